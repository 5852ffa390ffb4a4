// A session with the real server: the environment variable TVMS names the executable, as in `make vscode`.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { CancellationTokenSource, createMessageConnection, type MessageConnection } from "vscode-jsonrpc/node";
import { LineMap } from "../src/lines";
import { LiveSchedule } from "../src/live";
import { COMMANDS, isOutput, type Output, present } from "../src/results";
import { type Server, start } from "../src/server";

const command = process.env["TVMS"];
const skip = command === undefined && "TVMS does not name an executable";
const uri = "file:///schedule.tvms";
const text = readFileSync("../../samples/07_schedule.tvms", "utf8");
const lineOf = (part: string): number => text.slice(0, text.indexOf(part)).split("\n").length - 1;

let server: Server;
let connection: MessageConnection;

before(async () => {
  if (command === undefined) {
    return;
  }
  server = await start(command, undefined);
  connection = createMessageConnection(server.process.stdout, server.process.stdin);
  connection.listen();
  const { capabilities } = await connection.sendRequest<{
    capabilities: { executeCommandProvider: { commands: string[] } };
  }>("initialize", { processId: null, rootUri: null, capabilities: {} });
  assert.deepEqual(capabilities.executeCommandProvider.commands.toSorted(), Object.keys(COMMANDS).toSorted());
  await connection.sendNotification("initialized", {});
  const textDocument = { uri, languageId: "tvms", version: 1, text };
  await connection.sendNotification("textDocument/didOpen", { textDocument });
});

after(async () => {
  if (command !== undefined) {
    assert.equal(await server.reason(), undefined);
    const exited = once(server.process, "exit");
    await connection.sendRequest("shutdown");
    await connection.sendNotification("exit");
    await exited;
    connection.dispose();
  }
});

function execute(name: string, definition?: string): Promise<Output> {
  const args = definition === undefined ? [uri] : [uri, definition];
  return connection.sendRequest("workspace/executeCommand", { command: name, arguments: args });
}

test("the live schedule follows the cursor", { skip }, async () => {
  const live = new LiveSchedule(
    ({ uri, line, character }) =>
      connection.sendRequest("tvms/scheduled", { textDocument: { uri }, position: { line, character } }),
    () => undefined,
  );
  await live.update({ uri, line: lineOf("i0, i1 = "), character: 0 });
  assert.match(live.text, /^# tiled after 3 steps\n/);
  assert.match(live.text, /\n {4}for i_0, i_1, j, k in T\.grid\(8, 8, 64, 64\):\n/);
  await live.update({ uri, line: lineOf("S.parallel"), character: 0 });
  assert.match(live.text, /T\.parallel\(8\)/);
  const last = live.text;
  await live.update({ uri, line: 0, character: 0 });
  assert.equal(live.text, last);
});

test("a lens of a schedule shows the scheduled module", { skip }, async () => {
  const output = await execute("tvms.schedule", "tiled");
  const shown = present("tvms.schedule", output, "schedule.tvms", "tiled");
  assert.ok(shown.kind === "document", output.errors);
  assert.equal(shown.path, "/schedule tiled (scheduled).tvms");
  assert.match(shown.text, /T\.vectorized\(16\)/);
});

test("the palette runs a command without a definition", { skip }, async () => {
  const output = await execute("tvms.showtir");
  assert.ok(isOutput(output));
  assert.equal(present("tvms.showtir", output, "schedule.tvms", undefined).kind, "document", output.errors);
});

test("compiled code has the lines of the program", { skip }, async () => {
  for (const name of ["tvms.showtir", "tvms.showllvm", "tvms.showasm", "tvms.showptx"]) {
    const output = await execute(name);
    assert.ok(isOutput(output) && output.status === 0, output.errors);
    const map = new LineMap(output.lines ?? []);
    const count = output.text.split("\n").length;
    assert.ok(map.sourceLines.includes(lineOf("C[vi, vj] = C[vi, vj] +")), name);
    assert.ok((output.lines ?? []).every(([, , last]) => last <= count), name);
  }
});

test("boxes of the graph view have the lines of the program", { skip }, async () => {
  const output = await execute("tvms.view");
  const shown = present("tvms.view", output, "schedule.tvms", undefined);
  assert.ok(shown.kind === "picture", output.errors);
  const lines = Array.from(shown.svg.matchAll(/data-line="(\d+)"/g), ([, line]) => Number(line) - 1);
  assert.ok(lines.includes(lineOf("C[vi, vj] = C[vi, vj] +")));
});

test("a cancelled command ends", { skip }, async () => {
  const source = new CancellationTokenSource();
  const params = { command: "tvms.bench", arguments: [uri, "matmul"] };
  const request = connection.sendRequest("workspace/executeCommand", params, source.token);
  source.cancel();
  await assert.rejects(request, /cancel/i);
});
