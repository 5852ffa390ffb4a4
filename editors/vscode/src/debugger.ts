// Contributes the debugger: the adapter is `tvms dap`, started by the editor.

import * as vscode from "vscode";
import { bufferPage, type BufferView, completed, goal } from "./debug";
import { executable } from "./server";

const TYPE = "tvms";

/** Registers the debug adapter, the configuration for F5, and the commands of a stopped run. */
export function registerDebugger(): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.debug.registerDebugAdapterDescriptorFactory(TYPE, {
      createDebugAdapterDescriptor: ({ workspaceFolder }) => {
        const folder = workspaceFolder?.uri.fsPath;
        const command = vscode.workspace.getConfiguration("tvms").get("command", "tvms");
        return new vscode.DebugAdapterExecutable(executable(command, folder), ["dap"], folder === undefined ? {} : { cwd: folder });
      },
    }),
    vscode.debug.registerDebugConfigurationProvider(TYPE, {
      resolveDebugConfiguration: (_folder, configuration) => completed(configuration, openFile()) ?? null,
    }),
    vscode.commands.registerCommand("tvms.stepOverLoop", () => request("tvms/stepOverLoop", { threadId: 1 })),
    vscode.commands.registerCommand("tvms.runUntil", runUntil),
    vscode.commands.registerCommand("tvms.showBuffer", showBuffer),
  );
}

function openFile(): string | undefined {
  const document = vscode.window.activeTextEditor?.document;
  return document?.languageId === "tvms" && document.uri.scheme === "file" ? document.uri.fsPath : undefined;
}

/** Sends a request to the active session of this debugger; says why it was refused. */
async function request<Answer>(name: string, given: object): Promise<Answer | undefined> {
  const session = vscode.debug.activeDebugSession;
  if (session?.type !== TYPE) {
    return undefined;
  }
  try {
    return (await session.customRequest(name, given)) as Answer;
  } catch (error) {
    void vscode.window.showErrorMessage(`tvms: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

async function runUntil(): Promise<void> {
  const text = await vscode.window.showInputBox({ prompt: "A condition, such as i == 3, or a line" });
  if (text?.trim()) {
    await request("tvms/runUntil", goal(text));
  }
}

/** Shows a variable of the variables view, or an expression, as a table and a heat map. */
async function showBuffer(chosen?: { variable?: { evaluateName?: string } }): Promise<void> {
  const expression = chosen?.variable?.evaluateName ?? (await vscode.window.showInputBox({ prompt: "A buffer, such as C or C[0, :]" }));
  const item = vscode.debug.activeStackItem;
  const frameId = item instanceof vscode.DebugStackFrame ? item.frameId : undefined;
  const view = expression && (await request<BufferView>("tvms/buffer", { expression, frameId, format: "html" }));
  if (view) {
    const panel = vscode.window.createWebviewPanel("tvms.buffer", view.title, vscode.ViewColumn.Beside, {});
    panel.webview.html = bufferPage(view);
  }
}
