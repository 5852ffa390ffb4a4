// What is shown of the result of a command.

import { areOrigins, type Origin } from "./lines";

/** The result of `workspace/executeCommand`: the exit code of `tvms`, what it printed, and its errors. */
export interface Output {
  status: number;
  text: string;
  errors: string;
  /** Where the lines of compiled code come from. */
  lines?: readonly Origin[];
}

/** How the result of a command is shown: in the output channel, as a document whose name has this ending, or as a picture. */
interface Shown {
  title: string;
  /** The ending also selects the language, where an extension for it is installed. */
  ending?: string;
  isPicture?: boolean;
}

export const COMMANDS: Readonly<Record<string, Shown>> = {
  "tvms.run": { title: "run" },
  "tvms.verify": { title: "verify" },
  "tvms.bench": { title: "bench" },
  "tvms.view": { title: "graph", isPicture: true },
  "tvms.schedule": { title: "scheduled", ending: "tvms" },
  "tvms.showtir": { title: "lowered", ending: "tvms" },
  "tvms.showllvm": { title: "LLVM IR", ending: "ll" },
  "tvms.showasm": { title: "assembly", ending: "s" },
  "tvms.showptx": { title: "PTX", ending: "ptx" },
};

/** What a client does with a result. */
export type Presentation =
  | { kind: "document"; path: string; text: string; lines: readonly Origin[] }
  | { kind: "picture"; title: string; svg: string }
  | { kind: "channel"; text: string; failure?: string };

/** Tells whether a result has the shape that the server promises. */
export function isOutput(value: unknown): value is Output {
  const output = value as Partial<Output> | null | undefined;
  return typeof output?.status === "number" && typeof output.text === "string" && typeof output.errors === "string" && areOrigins(output.lines ?? []);
}

/** Returns how the result of a command on a definition of a file is shown. */
export function present(command: string, output: Output, file: string, name: string | undefined): Presentation {
  const { title, ending, isPicture }: Shown = COMMANDS[command] ?? { title: command };
  const stem = (file.split(/[\\/]/).at(-1) ?? file).replace(/\.[^.]*$/, "");
  if (ending !== undefined && output.status === 0) {
    const path = `/${[stem, name].filter(Boolean).join(" ")} (${title}).${ending}`;
    return { kind: "document", path, text: output.text, lines: output.lines ?? [] };
  }
  if (isPicture && output.status === 0) {
    return { kind: "picture", title: `${[stem, name].filter(Boolean).join(" ")} (${title})`, svg: output.text };
  }
  const heading = `— ${title} ${[stem, name].filter(Boolean).join(" ")}`;
  const text = [heading, output.text.trimEnd(), output.errors.trimEnd()].filter(Boolean).join("\n") + "\n";
  if (output.status === 0) {
    return { kind: "channel", text };
  }
  return { kind: "channel", text, failure: firstError(output) };
}

/** Returns the first line that tells what went wrong. */
function firstError(output: Output): string {
  const lines = `${output.errors}\n${output.text}`.split("\n").map((line) => line.trim()).filter(Boolean);
  return lines.find((line) => /\berror\b/i.test(line)) ?? lines[0] ?? `tvms ended with exit code ${output.status}`;
}
