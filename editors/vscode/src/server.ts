// Starts `tvms lsp`, and says what is wrong and what helps when it does not start.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { homedir } from "node:os";
import { setTimeout as delay } from "node:timers/promises";

/** A server that did not start; the message names the remedy. */
export class StartError extends Error {}

const INSTALL = "pip install 'tvms-lang[lsp]'";
const GRACE_MILLISECONDS = 1_000; // a server whose output ends is about to exit
const KEPT = 4_000; // characters of standard error; the last ones tell why a process ended

/** Returns the executable that a setting names, with `~` and `${workspaceFolder}` replaced. */
export function executable(setting: string, folder: string | undefined): string {
  const command = setting.trim() || "tvms";
  if (command.includes("${workspaceFolder}") && folder === undefined) {
    throw new StartError(`tvms.command is '${command}', but no folder is open. Open a folder, or write the whole path.`);
  }
  return command.replaceAll("${workspaceFolder}", () => folder ?? "").replace(/^~(?=[\\/])/, () => homedir());
}

/** Returns why a server did not start, with the remedy. */
export function reason(command: string, error: NodeJS.ErrnoException | null, status: number | string | null, output: string): string {
  if (error?.code === "ENOENT") {
    return `'${command}' was not found. Install it with "${INSTALL}", or set tvms.command to the path of the executable.`;
  }
  if (error !== null) {
    return `'${command}' could not be started: ${error.message}. Set tvms.command to the path of an executable.`;
  }
  if (output.includes("needs pygls")) {
    return `The language server needs the extra 'lsp'. Install it beside '${command}': ${INSTALL}`;
  }
  if (output.includes("invalid choice: 'lsp'")) {
    return `'${command}' has no language server. Install a newer version: ${INSTALL} --upgrade`;
  }
  const last = output.trim().split("\n").at(-1) ?? "";
  return `'${command} lsp' ended with ${typeof status === "string" ? "signal" : "exit code"} ${status}${last ? `: ${last}` : "."}`;
}

/** A running server. */
export interface Server {
  process: ChildProcessWithoutNullStreams;
  /** Returns why it ended; undefined if it still runs. */
  reason: () => Promise<string | undefined>;
}

/** Starts `command lsp`; throws StartError if there is no such executable. */
export async function start(command: string, folder: string | undefined): Promise<Server> {
  const process = spawn(command, ["lsp"], { cwd: folder, stdio: "pipe" });
  let output = "";
  process.stderr.setEncoding("utf8").on("data", (text: string) => {
    output = (output + text).slice(-KEPT);
  });
  const closed = new Promise<void>((resolve) => process.once("close", () => resolve()));
  await new Promise<void>((resolve, reject) => {
    process.once("spawn", resolve);
    process.once("error", (error) => reject(new StartError(reason(command, error, null, ""))));
  });
  const why = async (): Promise<string | undefined> => {
    await Promise.race([closed, delay(GRACE_MILLISECONDS, undefined, { ref: false })]);
    const status = process.exitCode ?? process.signalCode;
    return status === null ? undefined : reason(command, null, status, output);
  };
  return { process, reason: why };
}
