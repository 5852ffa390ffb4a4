// Drives Visual Studio Code in headless Chromium, as a user does: with keys and the mouse, reading what the page shows.

import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { install, ROOT } from "./install.mjs";

const PATIENCE = 30_000; // milliseconds; a loaded machine is slow, and a wait that succeeds ends at once
const SETTINGS = {
  "workbench.colorTheme": "Default Light Modern",
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "chat.disableAIFeatures": true,
  "editor.minimap.enabled": false,
  "editor.parameterHints.enabled": false,
  "files.autoSave": "off",
  "git.enabled": false,
  "telemetry.telemetryLevel": "off",
  "extensions.ignoreRecommendations": true,
};
const CLEAR = "Control+Alt+Shift+F12";
const KEYS = [
  {
    key: "ctrl+alt+shift+f12",
    command: "runCommands",
    args: { commands: ["workbench.action.closePanel", "workbench.action.files.revert", "workbench.action.closeAllEditors"] },
  },
];

export class Editor {
  /** Starts the editor with the extension in a copy of samples/, and a browser that shows it. */
  static async start(settings = {}, { width = 1400, height = 900 } = {}) {
    const { browser, puppeteer, node, entry } = await install();
    const editor = new Editor();
    editor.home = mkdtempSync(join(tmpdir(), "tvms-editor-"));
    editor.folder = join(editor.home, "work");
    cpSync(join(ROOT, "samples"), editor.folder, { recursive: true });
    const user = join(editor.home, "user");
    const command = process.env.TVMS ?? join(ROOT, ".venv/bin/tvms");
    mkdirSync(join(user, "User"), { recursive: true });
    writeFileSync(join(user, "User/keybindings.json"), JSON.stringify(KEYS));
    const files = { User: { ...SETTINGS, ...settings }, Machine: { "tvms.command": command } };
    for (const [name, values] of Object.entries(files)) {
      mkdirSync(join(user, name), { recursive: true });
      writeFileSync(join(user, name, "settings.json"), JSON.stringify(values));
    }
    const options = [
      entry, "--config", join(editor.home, "config.yaml"), "--user-data-dir", user, "--extensions-dir", join(editor.home, "extensions"),
    ];
    const environment = { ...process.env, HOME: editor.home, VSCODE_PROXY_URI: "" };
    execFileSync(node, [...options, "--install-extension", join(ROOT, "editors/vscode/out/tvms-0.1.0.vsix")], { env: environment, stdio: "pipe" });
    editor.server = spawn(
      node,
      [...options, "--auth", "none", "--bind-addr", "127.0.0.1:0", "--disable-workspace-trust", "--disable-telemetry",
        "--disable-update-check", editor.folder],
      { env: environment, stdio: ["ignore", "pipe", "pipe"] },
    );
    const address = await new Promise((resolve, reject) => {
      let output = "";
      const read = (text) => {
        output += text;
        const found = /HTTP server listening on (http:\S+)/.exec(output);
        if (found) {
          resolve(found[1]);
        }
      };
      editor.server.stdout.setEncoding("utf8").on("data", read);
      editor.server.stderr.setEncoding("utf8").on("data", read);
      editor.server.once("exit", () => reject(new Error(`code-server ended:\n${output}`)));
    });
    editor.browser = await puppeteer.launch({
      executablePath: browser,
      args: ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1"],
      defaultViewport: { width, height },
    });
    editor.page = await editor.browser.newPage();
    await editor.page.goto(`${address}?folder=${encodeURIComponent(editor.folder)}`);
    await editor.page.waitForSelector(".monaco-workbench .explorer-folders-view .monaco-list-row", { timeout: 2 * PATIENCE });
    return editor;
  }

  async stop() {
    await this.browser?.close();
    this.server?.kill();
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }

  /** Waits until a function of the page returns something true, and returns that. */
  async until(what, look, ...given) {
    try {
      const found = await this.page.waitForFunction(look, { timeout: PATIENCE, polling: 100 }, ...given);
      return await found.jsonValue();
    } catch (error) {
      throw new Error(`${what}: ${error.message}`, { cause: error });
    }
  }

  /** Presses keys, such as "Control+Shift+K", one after the other. */
  async press(...chords) {
    for (const chord of chords) {
      const keys = chord.split("+");
      for (const key of keys.slice(0, -1)) {
        await this.page.keyboard.down(key);
      }
      await this.page.keyboard.press(keys.at(-1));
      for (const key of keys.slice(0, -1).reverse()) {
        await this.page.keyboard.up(key);
      }
    }
  }

  type(text) {
    return this.page.keyboard.type(text, { delay: 15 });
  }

  /** Types into the box of the command palette (F1) or of files (Control+P), and chooses the first row that starts with a text. */
  async choose(key, text, label = text) {
    await this.press(key);
    await this.until("the palette", hasInput);
    await this.type(text);
    await this.until(`no row ${label}`, (wanted) => document.querySelector(".quick-input-list .monaco-list-row.focused")?.ariaLabel?.startsWith(wanted), label);
    await this.press("Enter");
    await delay(200);
  }

  command(title) {
    return this.choose("F1", title);
  }

  async open(file) {
    await this.choose("Control+p", file);
    await this.until(`${file} is open`, (name) => document.querySelector(".tab.active")?.ariaLabel?.startsWith(name), file);
    await this.until("its text", () => document.querySelector(".editor-instance .view-line"));
  }

  /** Types into the box that asks for something. */
  async answer(text) {
    await this.until("a box", hasInput);
    await this.type(text);
    await this.press("Enter");
  }

  /** Leaves the window as it was at the start: no box, no panel, no editor, and no edit. */
  async clear() {
    await this.press("Escape", "Escape");
    await this.press(CLEAR);
    await this.until("no editor is open", () => document.querySelector(".tab") === null);
  }

  /** Moves the cursor behind the first occurrence of a text in a sample as it was opened. */
  async behind(file, text) {
    const lines = readFileSync(join(this.folder, file), "utf8").split("\n");
    const line = lines.findIndex((one) => one.includes(text));
    const column = lines[line].indexOf(text) + text.length;
    await this.press("Control+g");
    await this.answer(`${line + 1}:${column + 1}`);
    await this.until(`the cursor is in line ${line + 1}`, (place) => document.querySelector("#status\\.editor\\.selection")?.textContent === place, `Ln ${line + 1}, Col ${column + 1}`);
  }

  /** Waits until an editor, counted from the left, shows a text; returns its visible lines, with hints. */
  shows(text, index = 0) {
    return this.until(`editor ${index} shows ${text}`, visibleLines, index, text);
  }

  /** Waits until what a function finds at the first element that matches in a webview is true, and returns that. */
  async inWebview(selector, find, wanted) {
    for (const end = Date.now() + PATIENCE; Date.now() < end; await delay(200)) {
      for (const frame of this.page.frames().slice(1)) {
        try {
          const found = await frame.$eval(selector, find, wanted);
          if (found) {
            return found;
          }
        } catch {
          // the frame has no such element, or it was replaced while it was read
        }
      }
    }
    throw new Error(`no webview has ${selector} ${wanted ?? ""}`);
  }

  /** Clicks on the first element that matches, once it is there. */
  async click(selector, text = "") {
    const find = (wanted, label) => [...document.querySelectorAll(wanted)].find((one) => one.textContent.includes(label));
    await this.until(`${selector} ${text}`, (wanted, label) => [...document.querySelectorAll(wanted)].some((one) => one.textContent.includes(label)), selector, text);
    await (await this.page.evaluateHandle(find, selector, text)).click();
  }

  screenshot(path, clip) {
    return this.page.screenshot({ path, clip });
  }
}

// The following run in the page.

function hasInput() {
  return document.querySelector(".quick-input-widget:not([style*='display: none']) input") !== null;
}

function visibleLines(index, text) {
  const editor = [...document.querySelectorAll(".editor-instance .monaco-editor[role='code']")][index];
  const lines = [...(editor?.querySelectorAll(".view-line") ?? [])]
    .sort((a, b) => parseFloat(a.style.top) - parseFloat(b.style.top))
    .map((line) => line.textContent.replaceAll("\u00a0", " "));
  return lines.some((line) => line.includes(text)) && lines;
}
