// Contributes the debugger: the adapter is `tvms dap`, started by the editor.

import * as vscode from "vscode";
import { bufferPage, type BufferView, completed, goal } from "./debug";
import { executable } from "./server";

const TYPE = "tvms";

/** Registers the debug adapter, the configuration for F5, and the commands of a stopped run. */
export function registerDebugger(): vscode.Disposable {
  const buffers = new BufferViews();
  return vscode.Disposable.from(
    buffers,
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
    vscode.commands.registerCommand("tvms.showBuffer", (chosen?: Parameters<BufferViews["show"]>[0]) => buffers.show(chosen)),
    vscode.debug.onDidChangeActiveStackItem(() => buffers.update()),
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

/** The open views of buffers; each shows its buffer again whenever the run stops, or another frame is chosen. */
class BufferViews implements vscode.Disposable {
  private readonly expressions = new Map<vscode.WebviewPanel, string>();

  /** Shows a variable of the variables view, or an expression, as a table and a heat map. */
  async show(chosen?: { variable?: { evaluateName?: string } }): Promise<void> {
    const expression = chosen?.variable?.evaluateName ?? (await vscode.window.showInputBox({ prompt: "A buffer, such as C or C[0, :]" }));
    const view = expression && (await request<BufferView>("tvms/buffer", asked(expression)));
    if (view) {
      const panel = vscode.window.createWebviewPanel("tvms.buffer", expression, { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true });
      panel.webview.html = bufferPage(view);
      this.expressions.set(panel, expression);
      panel.onDidDispose(() => this.expressions.delete(panel));
    }
  }

  async update(): Promise<void> {
    const session = vscode.debug.activeDebugSession;
    for (const [panel, expression] of session?.type === TYPE ? this.expressions : []) {
      try {
        panel.webview.html = bufferPage((await session!.customRequest("tvms/buffer", asked(expression))) as BufferView);
      } catch {
        // not visible at this statement, or the run goes on: what was shown last stays
      }
    }
  }

  dispose(): void {
    [...this.expressions.keys()].forEach((panel) => panel.dispose());
  }
}

/** Returns the arguments of `tvms/buffer` at the frame that is chosen. */
function asked(expression: string): object {
  const item = vscode.debug.activeStackItem;
  return { expression, format: "html", ...(item instanceof vscode.DebugStackFrame ? { frameId: item.frameId } : {}) };
}
