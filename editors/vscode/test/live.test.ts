import assert from "node:assert/strict";
import { test } from "node:test";
import { INVITATION, LiveSchedule, page, type Place, type Scheduled } from "../src/live";

const place = (line: number): Place => ({ uri: "file:///net.tvms", line, character: 0 });
const scheduled = (steps: number): Scheduled => ({ name: "tiled", steps, text: `step ${steps}\n\n` });

/** A server that answers when it is told to. */
class Asked {
  readonly lines: number[] = [];
  private readonly waiting: { resolve: (answer: Scheduled | null) => void; reject: (error: Error) => void }[] = [];

  readonly ask = (asked: Place): Promise<Scheduled | null> => {
    this.lines.push(asked.line);
    return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
  };

  answer(question: number, answer: Scheduled | null | Error): void {
    const { resolve, reject } = this.waiting[question]!;
    if (answer instanceof Error) {
      reject(answer);
    } else {
      resolve(answer);
    }
  }
}

test("a page names the schedule and its steps", () => {
  assert.equal(page(scheduled(1)), "# tiled after 1 step\nstep 1\n");
  assert.equal(page(scheduled(0)), "# tiled after 0 steps\nstep 0\n");
});

test("only the answer to the latest question is shown", async () => {
  const asked = new Asked();
  let shown = 0;
  const live = new LiveSchedule(asked.ask, () => shown++);
  const first = live.update(place(1));
  const second = live.update(place(2));
  asked.answer(1, scheduled(2));
  asked.answer(0, scheduled(1));
  await Promise.all([first, second]);
  assert.equal(live.text, page(scheduled(2)));
  assert.equal(shown, 1);
});

test("the last schedule stays outside of schedules, after errors, and where nothing changes", async () => {
  const asked = new Asked();
  let shown = 0;
  const live = new LiveSchedule(asked.ask, () => shown++);
  assert.equal(live.text, INVITATION);
  for (const [question, answer] of [scheduled(1), null, new Error("not open"), scheduled(1)].entries()) {
    const update = live.update(place(question));
    asked.answer(question, answer);
    await update;
  }
  assert.equal(live.text, page(scheduled(1)));
  assert.equal(shown, 1);
});

test("a moving cursor is asked about once it rests", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const asked = new Asked();
  const live = new LiveSchedule(asked.ask, () => undefined, 100);
  live.moved(place(1));
  context.mock.timers.tick(99);
  live.moved(place(2));
  context.mock.timers.tick(99);
  assert.deepEqual(asked.lines, []);
  context.mock.timers.tick(1);
  assert.deepEqual(asked.lines, [2]);
  live.moved(place(3));
  live.stop();
  context.mock.timers.tick(1_000);
  assert.deepEqual(asked.lines, [2]);
});
