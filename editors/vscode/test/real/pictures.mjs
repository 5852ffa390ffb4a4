// Takes the pictures of Visual Studio Code in docs/pictures: `node pictures.mjs FOLDER`.

import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Editor } from "./editor.mjs";

const folder = process.argv[2];
const SETTINGS = {
  "workbench.activityBar.location": "hidden",
  "window.commandCenter": false,
  "editor.stickyScroll.enabled": false,
  "editor.lineNumbersMinChars": 3,
  "editor.fontSize": 12,
  "editor.occurrencesHighlight": "off",
  "editor.inlayHints.maximumLength": 80,
  "debug.toolBarLocation": "docked",
  "debug.internalConsoleOptions": "neverOpen",
};

const editor = await Editor.start(SETTINGS, { width: 1500, height: 480 });
try {
  await schedule();
  await editor.clear();
  await editor.page.setViewport({ width: 1500, height: 640 });
  await debug();
} finally {
  await editor.stop();
}

/** A schedule with its hints, and beside it the function after the step of the cursor. */
async function schedule() {
  const file = "07_schedule.tvms";
  await editor.open(file);
  await editor.press("Control+b"); // the list of files
  await editor.behind(file, "S.vectorize(j1)");
  await editor.shows("vectors of 16 float32");
  await editor.command("tvms: Show schedule live");
  await editor.shows("T.vectorized(16)", 1);
  await delay(1_000);
  await editor.screenshot(join(folder, "schedule.png"));
}

/** A run that has stopped in a block, with its variables and a buffer. */
async function debug() {
  const file = "02_matmul.tvms";
  await editor.open(file);
  await editor.behind(file, "C[vi, vj] = C");
  await editor.press("F9", "F5");
  await editor.until("a stop at the entry", () => document.querySelector(".debug-top-stack-frame-line"));
  await editor.press("F5");
  await editor.until("a stop in the block", () => document.querySelector(".debug-call-stack")?.innerText.includes("vk = 0"));
  await editor.command("tvms: Show buffer as table and heat map");
  await editor.answer("A[0:6, 0:6]");
  await editor.inWebview("td[title]", () => true);
  await editor.command("tvms: Step over loop"); // also opens the first group of variables
  await editor.until("the next stop", () => document.querySelector(".debug-call-stack")?.innerText.includes("vk = 1"));
  await delay(1_500);
  await editor.screenshot(join(folder, "debugger.png"));
}
