import assert from "node:assert/strict";
import { test } from "node:test";
import { bufferPage, completed, goal } from "../src/debug";

test("F5 debugs the open file", () => {
  assert.deepEqual(completed({}, "/a/net.tvms"), {
    type: "tvms", request: "launch", name: "Debug this file", stopOnEntry: true, program: "/a/net.tvms",
  });
  assert.equal(completed({}, undefined), undefined);
});

test("a configuration keeps what it says", () => {
  const given = { type: "tvms", request: "launch", name: "Mine", program: "b.tvms", stopOnEntry: false, dims: { n: 2 } };
  assert.deepEqual(completed(given, "/a/net.tvms"), given);
});

test("a page escapes the text of a buffer, and keeps its heat map", () => {
  const shown = bufferPage({ title: "A<script>", table: "1 & 2", heatMap: "<table></table>" });
  assert.ok(shown.includes("<h3>A&#60;script&#62;</h3><pre>1 &#38; 2</pre><table></table>"));
});

test("a goal is a line or a condition", () => {
  assert.deepEqual(goal(" 12 "), { line: 12 });
  assert.deepEqual(goal("i == 3 "), { condition: "i == 3" });
});
