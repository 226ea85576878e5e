// The parser of server-sent events, as the HTML standard has it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { EventParser } from "../../src/app/page/sse.mjs";

const TEXT = [
  "retry: 3000",
  "",
  ": heartbeat",
  "id: 1",
  "event: member",
  'data: {"name": "Zoë \u{1F600}"}',
  "",
  "data:no space",
  "data:  two spaces",
  "data",
  "unknown: field",
  "",
  ":",
  "id: end",
  "event: end",
  'data: {"rows": 2}',
  "",
  "",
].join("\n");

const EVENTS = [
  { type: "member", data: '{"name": "Zoë \u{1F600}"}', id: "1" },
  { type: "message", data: "no space\n two spaces\n", id: "1" },
  { type: "end", data: '{"rows": 2}', id: "end" },
];

function parse(...pieces) {
  const parser = new EventParser();
  return pieces.flatMap((piece) => parser.push(piece));
}

test("lines end with LF, CR or both", () => {
  for (const end of ["\n", "\r", "\r\n"]) {
    assert.deepEqual(parse(TEXT.replaceAll("\n", end)), EVENTS, JSON.stringify(end));
  }
});

test("a text may come in any two pieces, and one character at a time", () => {
  for (const end of ["\n", "\r", "\r\n"]) {
    const text = TEXT.replaceAll("\n", end);
    for (let at = 0; at <= text.length; at += 1) {
      const pieces = [text.slice(0, at), "", text.slice(at)];
      assert.deepEqual(parse(...pieces), EVENTS, JSON.stringify(pieces));
    }
    assert.deepEqual(parse(...text), EVENTS, JSON.stringify(end));
  }
});

test("an event is there with the CR that ends it", () => {
  assert.deepEqual(parse("data: 1\r\n\r"), [{ type: "message", data: "1", id: "" }]);
});

test("an event without its empty line is none", () => {
  assert.deepEqual(parse("data: 1\n"), []);
  assert.deepEqual(parse("data: 1"), []);
});

test("an event without data is none, and its type is forgotten", () => {
  assert.deepEqual(parse("event: x\n\ndata: 1\n\n"), [{ type: "message", data: "1", id: "" }]);
});

test("an id holds until the next one, also that of an event without data", () => {
  const ids = parse("id: 1\n\ndata: a\n\nid\ndata: b\n\nid: 2\n\nid: 3\0\ndata: c\n\n");
  assert.deepEqual(
    ids.map(({ id }) => id),
    ["1", "", "2"],
  );
});
