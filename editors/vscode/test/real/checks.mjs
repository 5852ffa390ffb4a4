// `make vscode-test`: what a user does with the extension in Visual Studio Code, one check after the other in one window.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Editor } from "./editor.mjs";
import { FOLDER, install, Unavailable } from "./install.mjs";

const PYTHON = `\
from tvm.script import tir as T


@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("add"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + missing
`;

const unavailable = await install().then(() => undefined, (error) => {
  if (error instanceof Unavailable) {
    return error.message;
  }
  throw error;
});
let editor;

/** One check; a picture of the window is kept if it fails. */
function check(name, run) {
  test(name, { skip: unavailable, timeout: 180_000 }, async () => {
    try {
      await run();
    } catch (error) {
      await editor.screenshot(join(FOLDER, `${name}.png`));
      throw error;
    } finally {
      await editor.clear();
    }
  });
}

before(async () => {
  if (unavailable === undefined) {
    editor = await Editor.start({ "tvms.python.enable": true });
    writeFileSync(join(editor.folder, "embedded.py"), PYTHON);
  }
}, { timeout: 180_000 });
after(() => editor?.stop());

const hasLenses = () => document.querySelector(".codelens-decoration")?.textContent.startsWith("Run");
const colors = (index) => {
  const line = [...document.querySelectorAll(".view-line")].find((one) => one.textContent.includes("T.prim_func"));
  return new Set([...(line?.querySelectorAll("span span") ?? [])].map((span) => getComputedStyle(span).color)).size >= index;
};

check("opening a program starts the server: colors, lenses, symbols", async () => {
  await editor.open("02_matmul.tvms");
  await editor.until("colors of words", colors, 5);
  await editor.until("lenses", hasLenses);
  await editor.behind("02_matmul.tvms", "vi, vj, vk");
  await editor.until("the path of symbols", () => document.querySelector(".breadcrumbs-control")?.textContent.includes("matmul"));
});

check("hover shows the buffer of a name", async () => {
  await editor.open("02_matmul.tvms");
  await editor.behind("02_matmul.tvms", "C[vi, vj] = C");
  await editor.command("Show or Focus Hover");
  await editor.until("the hover", () => document.querySelector(".monaco-hover")?.innerText.includes("T.Buffer((48, 32)"));
});

check("an undefined name is underlined, and a quick fix corrects it", async () => {
  await editor.open("02_matmul.tvms");
  await editor.behind("02_matmul.tvms", "* B[vk, vj");
  await editor.type("x");
  await editor.until("the underline", () => document.querySelector(".squiggly-error"));
  await editor.choose("F1", "View: Toggle Problems");
  await editor.until("the problem", () => document.querySelector(".markers-panel")?.innerText.includes("E0101"));
  await editor.choose("F1", "View: Focus Active Editor Group");
  await editor.press("Control+.");
  await editor.click(".action-widget .action", "vj");
  await editor.shows("* B[vk, vj]");
  await editor.until("no underline", () => !document.querySelector(".squiggly-error"));
});

check("completion offers forms, with their documentation", async () => {
  await editor.open("02_matmul.tvms");
  await editor.behind("02_matmul.tvms", "* B[vk, vj]");
  await editor.press("Enter");
  await editor.type("T.gri");
  await editor.until("T.grid", () => document.querySelector(".suggest-widget .monaco-list-row.focused")?.ariaLabel?.startsWith("grid"));
});

check("renaming a buffer renames each of its uses", async () => {
  await editor.open("02_matmul.tvms");
  await editor.behind("02_matmul.tvms", "C[vi, vj] = C");
  await editor.press("F2");
  await editor.until("the box", () => document.querySelector(".rename-box input:focus"));
  await editor.type("result");
  await editor.press("Enter");
  await editor.shows("result[vi, vj] = result[vi, vj] + A[vi, vk] * B[vk, vj]");
  await editor.shows("T.writes(result[vi, vj])");
});

check("formatting", async () => {
  await editor.open("02_matmul.tvms");
  await editor.behind("02_matmul.tvms", "C[vi, vj] = C[vi, vj] +");
  await editor.type("     ");
  await editor.choose("F1", "Format Document");
  await editor.shows("C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]");
});

check("the lens Run shows the result in the output channel", async () => {
  await editor.open("02_matmul.tvms");
  await editor.click(".codelens-decoration a", "Run");
  await editor.until("the result", () => document.querySelector(".output-view, .part.panel")?.innerText.includes("float32"));
});

check("the compiled code of a line is highlighted beside it", async () => {
  await editor.open("02_matmul.tvms");
  await editor.until("lenses", hasLenses);
  await editor.command("tvms: Show LLVM IR");
  await editor.behind("02_matmul.tvms", "C[vi, vj] = C");
  await editor.until("highlights on both sides", () =>
    [...document.querySelectorAll(".editor-instance .monaco-editor[role='code']")].filter((one) =>
      one.querySelector(".view-overlays [class*='ced-'], .cdr[class*='ced-']")).length === 2);
});

check("a schedule: hints, and the live document that follows cursor and edits", async () => {
  const file = "07_schedule.tvms";
  await editor.open(file);
  await editor.shows("vectors of 16 float32");
  await editor.command("tvms: Show schedule live");
  await editor.behind(file, "S.reorder(");
  await editor.shows("# tiled after 5 steps", 1);
  await editor.behind(file, "S.vectorize(");
  await editor.shows("T.vectorized(16)", 1);
  await editor.behind(file, "factors=[None, 16");
  await editor.press("Backspace", "Backspace");
  await editor.type("4");
  await editor.shows("T.grid(8, 8, 16, 4, 64)", 1);
  await editor.behind(file, "S.vectorize(j1");
  await editor.press("Backspace", "Backspace");
  await editor.type("k");
  await editor.shows("error", 1);
  await editor.until("the refused step is underlined", () => document.querySelector(".squiggly-error"));
});

check("the graph: a click on a box selects its line", async () => {
  await editor.open("04_perceptron.tvms");
  await editor.until("lenses", hasLenses);
  await editor.command("tvms: Show graph");
  const line = await editor.inWebview("rect.operator", (box) => {
    box.dispatchEvent(new MouseEvent("click", { bubbles: true })); // a real one would miss a box that is out of view
    return box.dataset.line;
  });
  await editor.until("the line of the box", (wanted) => document.querySelector("#status\\.editor\\.selection")?.textContent.startsWith(`Ln ${wanted},`), line);
});

check("the debugger stops at a breakpoint, and shows buffers", async () => {
  const file = "02_matmul.tvms";
  await editor.open(file);
  await editor.behind(file, "C[vi, vj] = C");
  await editor.press("F9");
  await editor.until("the breakpoint", () => document.querySelector(".codicon-debug-breakpoint"));
  await editor.press("F5");
  await editor.until("a stop at the entry", () => document.querySelector(".debug-top-stack-frame-line"));
  await editor.press("F5");
  await editor.until("a stop in the block", () => document.querySelector(".debug-call-stack")?.innerText.includes("vk = 0"));
  await editor.command("tvms: Show buffer as table and heat map");
  await editor.answer("C[0, 0:2]");
  const heading = (found, end) => found.textContent.startsWith("C[0, 0:2]: float32[2]") && found.textContent.endsWith("0 to 0") === end;
  await editor.inWebview("h3", heading, true);
  await editor.press("F5");
  await editor.until("the next stop", () => document.querySelector(".debug-call-stack")?.innerText.includes("vk = 1"));
  await editor.inWebview("h3", heading, false);
  await editor.press("Shift+F5");
  await editor.until("the end", () => !document.querySelector(".debug-toolbar:not([style*='display: none'])"));
});

check("a function in a Python program is checked", async () => {
  await editor.open("embedded.py");
  await editor.shows("missing");
  await editor.until("the underline", () => document.querySelector(".squiggly-error"));
});

check("the walkthrough", async () => {
  await editor.choose("F1", "Welcome: Open Walkthrough...");
  await editor.answer("Get started with tvms");
  await editor.until("its steps", () => document.querySelector(".gettingStarted")?.innerText.includes("Install the language server"));
});
