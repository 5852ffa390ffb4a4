// The extension: a client of `tvms lsp` that shows results of commands and the schedule at the cursor.

import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  ExecuteCommandRequest,
  LanguageClient,
  type LanguageClientOptions,
} from "vscode-languageclient/node";
import { registerDebugger } from "./debugger";
import { GraphViews } from "./graphView";
import { Highlights } from "./highlights";
import { LiveSchedule, type Scheduled } from "./live";
import { COMMANDS, isOutput, present, type Presentation } from "./results";
import { executable, type Server, start } from "./server";
import { SCHEME, Texts } from "./texts";

const LIVE = "/live schedule.tvms";

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const extension = new Extension();
  context.subscriptions.push(
    extension,
    registerDebugger(),
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, extension.texts),
    vscode.commands.registerCommand("tvms.restartServer", () => extension.restart()),
    vscode.commands.registerCommand("tvms.showScheduleLive", () => extension.showLive()),
    vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => extension.moved(textEditor)),
    vscode.window.onDidChangeActiveTextEditor((editor) => editor && extension.moved(editor)),
    vscode.workspace.onDidChangeTextDocument(({ document }) => extension.edited(document)),
    vscode.workspace.onDidOpenTextDocument((document) => extension.opened(document)),
    vscode.workspace.onDidCloseTextDocument((document) => extension.closed(document)),
    vscode.workspace.onDidGrantWorkspaceTrust(() => extension.restart()),
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration("tvms.command") || change.affectsConfiguration("tvms.python")) {
        await extension.restart();
      }
    }),
  );
  await extension.restart();
}

function settings(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration("tvms");
}

/** Tells whether a document is one for the language server. */
function isServed(document: vscode.TextDocument): boolean {
  return selector().some((filter) => vscode.languages.match(filter, document) > 0);
}

function selector(): { scheme: string; language: string }[] {
  const languages = settings().get<boolean>("python.enable") ? ["tvms", "python"] : ["tvms"];
  return ["file", "untitled"].flatMap((scheme) => languages.map((language) => ({ scheme, language })));
}

/** A client that only logs its errors: the extension shows them once, with a remedy. */
class Client extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

class Extension implements vscode.Disposable {
  readonly texts = new Texts();
  private readonly highlights = new Highlights();
  private readonly graphs = new GraphViews();
  private readonly channel = vscode.window.createOutputChannel("tvms");
  private readonly log = vscode.window.createOutputChannel("tvms language server");
  private readonly live = new LiveSchedule(
    async ({ uri, line, character }) =>
      (await this.client?.sendRequest<Scheduled | null>("tvms/scheduled", {
        textDocument: { uri },
        position: { line, character },
      })) ?? null,
    () => this.texts.set(LIVE, this.live.text),
  );
  private client: LanguageClient | undefined;
  private server: Server | undefined;
  private hasTried = false; // a start that failed is repeated on request, not with each document
  private starting: Promise<void> = Promise.resolve();

  // --- The server

  /** Stops the server if it runs, and starts it if a document needs it. */
  restart(): Promise<void> {
    if (!this.client?.isRunning()) {
      this.server?.process.kill(); // ends a start that hangs, which the next one waits for
    }
    this.starting = this.starting.then(async () => {
      await this.stop();
      this.hasTried = vscode.workspace.isTrusted && vscode.workspace.textDocuments.some(isServed);
      if (this.hasTried) {
        await this.start();
      }
    });
    return this.starting;
  }

  /** Starts the server for the first document that needs it. */
  async opened(document: vscode.TextDocument): Promise<void> {
    await this.starting;
    if (!this.hasTried && isServed(document)) {
      await this.restart();
    }
  }

  private async start(): Promise<void> {
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
    try {
      const server = await start(executable(settings().get("command", "tvms"), folder), folder);
      this.server = server;
      this.client = new Client("tvms", "tvms", () => Promise.resolve(server.process), this.options(server));
      await this.client.start();
      await vscode.commands.executeCommand("setContext", "tvms.isRunning", true);
    } catch (error) {
      void this.complain((await this.server?.reason()) ?? (error instanceof Error ? error.message : String(error)));
    }
  }

  private options(server: Server): LanguageClientOptions {
    return {
      documentSelector: selector(),
      outputChannel: this.log,
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          if (this.server === server && this.client?.isRunning()) {
            void vscode.commands.executeCommand("setContext", "tvms.isRunning", false);
            void server.reason().then((why) => this.complain(why ?? "the connection to the language server was closed"));
          }
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
      middleware: { executeCommand: (command, args) => this.execute(command, args) },
    };
  }

  private async complain(message: string): Promise<void> {
    const answer = await vscode.window.showErrorMessage(`tvms: ${message}`, "Open settings", "Show log", "Try again");
    if (answer === "Open settings") {
      await vscode.commands.executeCommand("workbench.action.openSettings", "tvms.command");
    } else if (answer === "Show log") {
      this.log.show();
    } else if (answer === "Try again") {
      void this.restart();
    }
  }

  private async stop(): Promise<void> {
    const { client, server } = this;
    this.client = this.server = undefined;
    this.live.stop();
    await vscode.commands.executeCommand("setContext", "tvms.isRunning", false);
    await client?.dispose().catch(() => undefined); // a client that did not start has nothing to stop
    server?.process.kill();
  }

  // --- Commands

  /** Runs a command of the server, from a lens with its arguments or from the palette without, and shows the result. */
  private async execute(command: string, args: unknown[]): Promise<void> {
    const active = vscode.window.activeTextEditor?.document;
    const [uri = active?.uri.toString(), name] = args as [string?, string?];
    const client = this.client;
    const source = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri);
    const version = source?.version;
    if (uri === undefined || client === undefined) {
      return;
    }
    const title = `tvms ${COMMANDS[command]?.title ?? command} ${name ?? ""}`.trimEnd();
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
    const result = await vscode.window.withProgress(options, async (_, token) => {
      const request = { command, arguments: name === undefined ? [uri] : [uri, name] };
      try {
        return await client.sendRequest(ExecuteCommandRequest.type, request, token);
      } catch (error) {
        if (!token.isCancellationRequested) {
          void vscode.window.showErrorMessage(`${title}: ${error instanceof Error ? error.message : String(error)}`);
        }
        return undefined;
      }
    });
    if (isOutput(result)) {
      await this.present(present(command, result, vscode.Uri.parse(uri).path, name), source, version);
    }
  }

  private async present(shown: Presentation, source?: vscode.TextDocument, version?: number): Promise<void> {
    if (shown.kind === "document") {
      const { document } = await this.texts.show(shown.path, shown.text);
      if (source !== undefined && version !== undefined && source.version === version) {
        this.highlights.connect(document.uri, source, version, shown.lines);
        vscode.window.visibleTextEditors
          .filter((editor) => editor.document === source)
          .forEach((editor) => this.highlights.moved(editor));
      }
      return;
    }
    if (shown.kind === "picture") {
      if (source !== undefined) {
        this.graphs.show(source, shown.svg, shown.title);
      }
      return;
    }
    this.channel.appendLine(shown.text);
    if (shown.failure === undefined) {
      this.channel.show(true);
    } else if ((await vscode.window.showErrorMessage(`tvms: ${shown.failure}`, "Show all")) !== undefined) {
      this.channel.show(true);
    }
  }

  // --- The live schedule

  async showLive(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    await this.texts.show(LIVE, this.live.text);
    if (editor !== undefined) {
      this.moved(editor);
    }
  }

  /** Tells that the cursor of an editor has moved. */
  moved(editor: vscode.TextEditor): void {
    this.highlights.moved(editor);
    this.graphs.moved(editor);
    if (this.client?.isRunning() && this.texts.isVisible(LIVE) && isServed(editor.document)) {
      const { line, character } = editor.selection.active;
      this.live.moved({ uri: editor.document.uri.toString(), line, character });
    }
  }

  /** Tells that a text has changed. */
  edited(document: vscode.TextDocument): void {
    this.highlights.edited(document);
    const editor = vscode.window.activeTextEditor;
    if (editor?.document === document) {
      this.moved(editor);
    }
  }

  /** Tells that a document was closed. */
  closed(document: vscode.TextDocument): void {
    this.texts.forget(document);
    this.highlights.forget(document);
  }

  async dispose(): Promise<void> {
    await this.stop();
    this.highlights.dispose();
    this.graphs.dispose();
    this.channel.dispose();
    this.log.dispose();
  }
}
