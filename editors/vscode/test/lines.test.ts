import assert from "node:assert/strict";
import { test } from "node:test";
import { areOrigins, highlight, LineMap, type Origin } from "../src/lines";

const origins: Origin[] = [[7, 3, 4], [9, 5, 5], [7, 8, 10]];
const map = new LineMap(origins);

test("a source line has all the ranges that come from it", () => {
  assert.deepEqual(map.compiled(6), [[2, 3], [7, 9]]);
  assert.deepEqual(map.compiled(8), [[4, 4]]);
  assert.deepEqual(map.compiled(7), []);
  assert.deepEqual(map.sourceLines, [6, 8]);
});

test("a compiled line has one source line, or none between ranges", () => {
  const sources = Array.from({ length: 12 }, (_, line) => map.source(line));
  const none = undefined;
  assert.deepEqual(sources, [none, none, 6, 6, 8, none, none, 6, 6, 6, none, none]);
});

test("the two directions are inverse to each other", () => {
  for (let line = 0; line < 12; line++) {
    const source = map.source(line);
    const back = source === undefined ? [] : map.compiled(source);
    assert.equal(back.some(([first, last]) => first <= line && line <= last), source !== undefined);
  }
});

test("the cursor highlights both texts and scrolls the other one", () => {
  const compiled = map.compiled(6);
  assert.deepEqual(highlight(map, "source", 6), { source: [[6, 6]], compiled, reveal: [2, 3] });
  assert.deepEqual(highlight(map, "compiled", 8), { source: [[6, 6]], compiled, reveal: [6, 6] });
  assert.equal(highlight(map, "source", 7), undefined);
  assert.equal(highlight(map, "compiled", 5), undefined);
});

test("only triples of positive integers are origins", () => {
  assert.ok(areOrigins(origins) && areOrigins([]));
  assert.ok(![undefined, null, "", [[1, 2]], [[1, 2, 0]], [[1, 2, 2.5]], [1, 2, 3]].some(areOrigins));
});
