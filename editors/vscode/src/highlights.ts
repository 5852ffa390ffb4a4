// Programs and their compiled code side by side: the line of the cursor is highlighted in both, and the other one scrolls along.

import * as vscode from "vscode";
import { highlight, LineMap, type Lines, type Origin } from "./lines";

/** A compiled document, and the version of the program that it was made of. */
interface Pair {
  source: string;
  version: number;
  map: LineMap;
}

export class Highlights implements vscode.Disposable {
  private readonly pairs = new Map<string, Pair>();
  private readonly decoration = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("editor.wordHighlightStrongBackground"),
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.wordHighlightStrongForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Full,
  });

  /** Connects a compiled document with the program that it was made of. */
  connect(compiled: vscode.Uri, source: vscode.TextDocument, version: number, origins: readonly Origin[]): void {
    this.pairs.set(compiled.toString(), { source: source.uri.toString(), version, map: new LineMap(origins) });
  }

  /** Forgets a compiled document that was closed. */
  forget(document: vscode.TextDocument): void {
    this.pairs.delete(document.uri.toString());
  }

  /** Tells that the cursor of an editor has moved. */
  moved(editor: vscode.TextEditor): void {
    const here = editor.document.uri.toString();
    const line = editor.selection.active.line;
    for (const [compiled, pair] of this.pairs) {
      if (here === compiled) {
        this.show(pair, "compiled", line, editor, visible(pair.source));
      } else if (here === pair.source) {
        this.show(pair, "source", line, editor, visible(compiled));
      }
    }
  }

  /** Tells that a text has changed: its lines are no longer those that were compiled. */
  edited(document: vscode.TextDocument): void {
    const here = document.uri.toString();
    for (const [compiled, pair] of this.pairs) {
      if (pair.source === here && document.version !== pair.version) {
        this.pairs.delete(compiled);
        [...visible(compiled), ...visible(here)].forEach((editor) => editor.setDecorations(this.decoration, []));
      }
    }
  }

  private show(
    pair: Pair, side: "source" | "compiled", line: number, editor: vscode.TextEditor, others: readonly vscode.TextEditor[],
  ): void {
    const found = highlight(pair.map, side, line);
    const [own, other] = side === "source" ? (["source", "compiled"] as const) : (["compiled", "source"] as const);
    editor.setDecorations(this.decoration, ranges(found?.[own]));
    for (const beside of others) {
      beside.setDecorations(this.decoration, ranges(found?.[other]));
      if (found?.reveal !== undefined) {
        beside.revealRange(range(found.reveal), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
      }
    }
  }

  dispose(): void {
    this.decoration.dispose();
  }
}

function visible(uri: string): vscode.TextEditor[] {
  return vscode.window.visibleTextEditors.filter(({ document }) => document.uri.toString() === uri);
}

function ranges(lines: readonly Lines[] | undefined): vscode.Range[] {
  return (lines ?? []).map(range);
}

function range([first, last]: Lines): vscode.Range {
  return new vscode.Range(first, 0, last, 0);
}
