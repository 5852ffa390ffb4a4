// Read-only documents of the scheme `tvms`, shown beside the editor.

import * as vscode from "vscode";

export const SCHEME = "tvms";

/** The texts of the virtual documents, by their path. */
export class Texts implements vscode.TextDocumentContentProvider {
  private readonly texts = new Map<string, string>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.path) ?? "# Run the command again: results are not kept when the editor closes.\n";
  }

  /** Sets the text of a document, and updates it where it is open. */
  set(path: string, text: string): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: SCHEME, path });
    this.texts.set(path, text);
    this.changed.fire(uri);
    return uri;
  }

  /** Sets the text of a document and shows it beside the editor; the editor keeps the focus. */
  async show(path: string, text: string): Promise<vscode.TextEditor> {
    const document = await vscode.workspace.openTextDocument(this.set(path, text));
    return vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: false });
  }

  /** Forgets the text of a document that was closed. */
  forget(document: vscode.TextDocument): void {
    if (document.uri.scheme === SCHEME) {
      this.texts.delete(document.uri.path);
    }
  }

  /** Tells whether a document is visible. */
  isVisible(path: string): boolean {
    return vscode.window.visibleTextEditors.some(({ document }) => document.uri.scheme === SCHEME && document.uri.path === path);
  }
}
