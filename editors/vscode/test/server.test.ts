import assert from "node:assert/strict";
import { homedir } from "node:os";
import { test } from "node:test";
import { executable, reason, start, StartError } from "../src/server";

test("the executable of a setting", () => {
  assert.equal(executable("tvms", undefined), "tvms");
  assert.equal(executable("  ", "/p"), "tvms");
  assert.equal(executable("${workspaceFolder}/.venv/bin/tvms", "/p$&"), "/p$&/.venv/bin/tvms");
  assert.equal(executable("~/bin/tvms", undefined), `${homedir()}/bin/tvms`);
  assert.throws(() => executable("${workspaceFolder}/tvms", undefined), {
    message: "tvms.command is '${workspaceFolder}/tvms', but no folder is open. Open a folder, or write the whole path.",
  });
});

test("a missing executable is reported with its remedy", async () => {
  await assert.rejects(start("no-such-tvms", undefined), (error: unknown) => {
    assert.ok(error instanceof StartError);
    assert.equal(
      error.message,
      "'no-such-tvms' was not found. " +
        "Install it with \"pip install 'tvms-lang[lsp]'\", or set tvms.command to the path of the executable.",
    );
    return true;
  });
});

test("a server that ends is reported with what it printed", async () => {
  const server = await start(process.execPath, undefined); // `node lsp`: no such module
  assert.match((await server.reason()) ?? "", /lsp' ended with exit code 1: Node\.js v/);
});

test("the reasons of an early end", () => {
  const missing = "error: tvms lsp needs pygls\n  help: install it: pip install 'tvms-lang[lsp]'\n";
  assert.equal(
    reason("tvms", null, 2, missing),
    "The language server needs the extra 'lsp'. Install it beside 'tvms': pip install 'tvms-lang[lsp]'",
  );
  assert.equal(
    reason("tvms", null, 2, "error: argument COMMAND: invalid choice: 'lsp'\n"),
    "'tvms' has no language server. Install a newer version: pip install 'tvms-lang[lsp]' --upgrade",
  );
  assert.equal(reason("tvms", null, 3, ""), "'tvms lsp' ended with exit code 3.");
  assert.equal(reason("tvms", null, "SIGKILL", ""), "'tvms lsp' ended with signal SIGKILL.");
  assert.equal(
    reason("/tmp", Object.assign(new Error("spawn /tmp EACCES"), { code: "EACCES" }), null, ""),
    "'/tmp' could not be started: spawn /tmp EACCES. Set tvms.command to the path of an executable.",
  );
});
