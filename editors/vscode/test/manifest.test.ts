import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import manifest from "../package.json";

const steps = manifest.contributes.walkthroughs.flatMap(({ steps }) => steps);
const commands = manifest.contributes.commands.map(({ command }) => command);

test("each step of the walkthrough has a page, which is packaged", () => {
  const packaged = readFileSync(".vscodeignore", "utf8").split("\n");
  assert.ok(packaged.includes("!walkthrough/*.md"));
  assert.deepEqual(steps.filter(({ media }) => !/^walkthrough\/\w+\.md$/.test(media.markdown) || !existsSync(media.markdown)), []);
});

test("the walkthrough runs only commands that the extension offers", () => {
  const events = steps.flatMap((step) => step.completionEvents ?? []).map((event) => event.replace("onCommand:", ""));
  const links = steps.flatMap(({ description }) => Array.from(description.matchAll(/\(command:(tvms\.\w+)/g), ([, name]) => name!));
  assert.deepEqual([...events, ...links].filter((name) => !commands.includes(name)), []);
  assert.ok(events.length > 0 && links.length > 0);
});
