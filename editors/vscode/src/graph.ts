// The page of a picture of `tvms view`: boxes lead to their source lines, and the line of the cursor to its boxes.

/** A number that a page may use once, for its style and its script. */
export function nonce(random: () => number = Math.random): string {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  return Array.from({ length: 32 }, () => letters[Math.floor(random() * letters.length)]).join("");
}

const STYLE = `
text { pointer-events: none; }
[data-line] { cursor: pointer; }
.here { stroke: #0969da; stroke-width: 3; }
`;

/** The script of the page; it asks for no other resource. Lines count from 1. */
const SCRIPT = `
const host = acquireVsCodeApi();
document.addEventListener("click", ({ target }) => {
  const line = Number(target.getAttribute("data-line"));
  if (line > 0) { host.postMessage({ line }); }
});
addEventListener("message", ({ data }) => {
  const found = document.querySelectorAll('[data-line="' + Number(data.line) + '"]');
  document.querySelectorAll(".here").forEach((box) => box.classList.remove("here"));
  found.forEach((box) => box.classList.add("here"));
  if (found.length > 0) { found[0].scrollIntoView({ block: "nearest", inline: "nearest" }); }
});
`;

/** Returns the page that shows an SVG picture; it loads nothing, and runs only its own script. */
export function graphPage(svg: string, once: string): string {
  const policy = `default-src 'none'; style-src 'nonce-${once}'; script-src 'nonce-${once}'`;
  const picture = svg.replaceAll("<style>", `<style nonce="${once}">`);
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">
<title>Graph</title></head><body>
${picture}
<style nonce="${once}">${STYLE}</style>
<script nonce="${once}">${SCRIPT}</script>
</body></html>
`;
}

/** Returns the line, from 0, that a message of the page asks for, in a text with a number of lines; undefined for others. */
export function asked(message: unknown, lineCount: number): number | undefined {
  const line = (message as { line?: unknown } | null | undefined)?.line;
  return typeof line === "number" && Number.isInteger(line) && line >= 1 && line <= lineCount ? line - 1 : undefined;
}
