// Pictures of programs beside the editor: a click on a box shows its line, and the cursor marks its boxes.

import * as vscode from "vscode";
import { asked, graphPage, nonce } from "./graph";

export class GraphViews implements vscode.Disposable {
  private readonly panels = new Map<string, vscode.WebviewPanel>();

  /** Shows the picture of a program, in its panel if it has one already. */
  show(source: vscode.TextDocument, svg: string, title: string): void {
    const uri = source.uri.toString();
    let panel = this.panels.get(uri);
    if (panel === undefined) {
      const options = { enableScripts: true, localResourceRoots: [] };
      const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
      panel = vscode.window.createWebviewPanel("tvms.graph", title, column, options);
      panel.webview.onDidReceiveMessage((message) => this.clicked(source, message));
      panel.onDidDispose(() => this.panels.delete(uri));
      this.panels.set(uri, panel);
    }
    panel.title = title;
    panel.webview.html = graphPage(svg, nonce());
    panel.reveal(undefined, true);
  }

  /** Tells that the cursor of an editor has moved. */
  moved(editor: vscode.TextEditor): void {
    const panel = this.panels.get(editor.document.uri.toString());
    void panel?.webview.postMessage({ line: editor.selection.active.line + 1 });
  }

  private async clicked(source: vscode.TextDocument, message: unknown): Promise<void> {
    const line = asked(message, source.lineCount);
    if (line !== undefined) {
      const shown = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === source.uri.toString());
      const selection = new vscode.Range(line, 0, line, 0);
      await vscode.window.showTextDocument(source, { selection, viewColumn: shown?.viewColumn ?? vscode.ViewColumn.One });
    }
  }

  dispose(): void {
    this.panels.forEach((panel) => panel.dispose());
  }
}
