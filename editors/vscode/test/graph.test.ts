import assert from "node:assert/strict";
import { test } from "node:test";
import { asked, graphPage, nonce } from "../src/graph";

const svg = '<svg><style>rect { fill: red }</style><rect data-line="3"/></svg>';

test("a page permits only its own style and script, and no resource", () => {
  const page = graphPage(svg, "N1");
  assert.ok(page.includes(`content="default-src 'none'; style-src 'nonce-N1'; script-src 'nonce-N1'"`));
  assert.ok(page.includes('<svg><style nonce="N1">rect { fill: red }</style><rect data-line="3"/></svg>'));
  assert.ok(![/<style>/, /<script>/, /\sstyle=/, /\son\w+=/, /src=/, /https?:/].some((pattern) => pattern.test(page)));
});

test("a nonce is long, and made of letters and digits", () => {
  assert.match(nonce(), /^[A-Za-z0-9]{32}$/);
  assert.notEqual(nonce(), nonce());
});

test("only a line of the text can be asked for", () => {
  assert.equal(asked({ line: 1 }, 5), 0);
  assert.equal(asked({ line: 5 }, 5), 4);
  const others = [{ line: 0 }, { line: 6 }, { line: 1.5 }, { line: "1" }, {}, null, undefined, 3];
  assert.ok(others.every((message) => asked(message, 5) === undefined));
});
