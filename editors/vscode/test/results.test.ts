import assert from "node:assert/strict";
import { test } from "node:test";
import manifest from "../package.json";
import { COMMANDS, isOutput, type Output, present } from "../src/results";

test("code is shown as a document whose ending is that of its language", () => {
  const output: Output = { status: 0, text: "define void @f()\n", errors: "" };
  assert.deepEqual(present("tvms.showllvm", { ...output, lines: [[2, 1, 1]] }, "/p/net.v2.tvms", "matmul"), {
    kind: "document",
    path: "/net.v2 matmul (LLVM IR).ll",
    text: "define void @f()\n",
    lines: [[2, 1, 1]],
  });
  assert.deepEqual(present("tvms.schedule", output, "net.tvms", undefined), {
    kind: "document",
    path: "/net (scheduled).tvms",
    text: "define void @f()\n",
    lines: [],
  });
});

test("a picture is shown as such, and its failure as any other", () => {
  const svg = { status: 0, text: "<svg/>", errors: "" };
  assert.deepEqual(present("tvms.view", svg, "/p/net.tvms", "main"), { kind: "picture", title: "net main (graph)", svg: "<svg/>" });
  assert.equal(present("tvms.view", { status: 1, text: "", errors: "error: x" }, "net.tvms", undefined).kind, "channel");
});

test("results of runs go to the output channel, with warnings", () => {
  const output = { status: 0, text: "C 64x64\n", errors: "warning: slow\n" };
  assert.deepEqual(present("tvms.run", output, "/p/net.tvms", "matmul"), {
    kind: "channel",
    text: "— run net matmul\nC 64x64\nwarning: slow\n",
  });
});

test("a failure shows its first error, and no document", () => {
  const output = { status: 1, text: "", errors: "note: x\nerror[E0104]: unknown name 'C'\n  --> -:5:3\n" };
  assert.deepEqual(present("tvms.showasm", output, "/p/net.tvms", undefined), {
    kind: "channel",
    text: "— assembly net\nnote: x\nerror[E0104]: unknown name 'C'\n  --> -:5:3\n",
    failure: "error[E0104]: unknown name 'C'",
  });
  const silent = present("tvms.run", { status: 9, text: "", errors: "" }, "a.tvms", undefined);
  assert.deepEqual(silent, { kind: "channel", text: "— run a\n", failure: "tvms ended with exit code 9" });
});

test("only the promised shape is a result", () => {
  assert.ok(isOutput({ status: 0, text: "", errors: "" }));
  assert.ok(![null, undefined, 1, {}, { status: 0, text: "" }, { status: 0, text: "", errors: "", lines: [1] }].some(isOutput));
});

test("the palette offers the commands of the server", () => {
  const offered = manifest.contributes.commands.map(({ command }) => command);
  assert.deepEqual(Object.keys(COMMANDS).filter((command) => !offered.includes(command)), []);
});
