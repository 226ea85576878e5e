// What the tests of the page in a browser share.

import { readFileSync } from "node:fs";

import { HOST, PREFIX, launch, service, startProxy, watch } from "../../scripts/browser.mjs";

export { HOST, PREFIX, service };

export const ROOT = `http://${HOST}:${service.port}`;

const AXE = readFileSync(new URL("../../target/node/node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

const browser = await launch();

export function closeBrowser() {
  return browser.close();
}

// Opens the page as a visitor of this kind, and answers it with what it does and what it shows.
export async function visit(address, visitor = {}) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 }, ...visitor });
  page.setDefaultTimeout(20_000);
  const { requests, faults } = watch(page);
  await page.goto(address);
  const run = (name) => page.getByRole("region", { name, exact: true });
  return {
    page,
    requests,
    faults,
    paged: run("Page by page"),
    streamed: run("As a stream"),
    press: (name) => page.getByRole("button", { name, exact: true }).click(),
  };
}

// What axe finds in the page as it is now.
export async function accessibilityFaults(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(", ")}`);
}

// How far the page is wider than its window.
export function overflow(page) {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return scrollWidth - clientWidth;
  });
}

export function focused(page) {
  return page.evaluate(() => document.activeElement.textContent);
}

export async function api(path, { method = "GET", body, key } = {}) {
  const response = await fetch(new URL(`/api/v1/${path}`, service), {
    method,
    headers: {
      ...(body && { "content-type": "application/json" }),
      ...(key && { authorization: `Bearer ${key}` }),
    },
    body: body && JSON.stringify(body),
  });
  if (!response.ok) {
    throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  }
  return response.json();
}

export function add(name, tag, more = {}) {
  return api("members", { method: "POST", body: { name, tags: [tag], ...more } });
}

export function addMail(member, more = {}) {
  const body = { subject: "Your card", recipient: "ann@example.org", ...more };
  return api(`members/${member.id}/mail-records`, { method: "POST", body });
}

export function report({ member_id, id }, events) {
  return api(`members/${member_id}/mail-records/${id}/events`, { method: "POST", body: events });
}

export function retry({ member_id, id }) {
  return api(`members/${member_id}/mail-records/${id}/retry`, { method: "POST" });
}

export function suppress(address, more = {}) {
  return api("suppressions", { method: "POST", body: { address, ...more } });
}

export function consent({ id }, body) {
  return api(`members/${id}/consents`, { method: "POST", body });
}

export async function total(query) {
  return (await api(`members?limit=1&count=exact&${query}`)).page.total;
}

// A proxy that strips a prefix, and lets so many bytes of the next event stream through as `pass` says:
// what follows is held back, cut off with the connection, or left out of an answer that looks whole.
export async function startGate() {
  const gate = { next: undefined };
  const proxy = await startProxy((answer, response, onward) => {
    const isStream = answer.headers["content-type"]?.startsWith("text/event-stream");
    if (!isStream || !gate.next) {
      answer.pipe(response);
      return;
    }
    let { bytes, ending } = gate.next;
    gate.next = undefined;
    response.on("close", () => onward.destroy());
    answer.on("error", () => {});
    answer.on("data", (chunk) => {
      response.write(chunk.subarray(0, bytes));
      bytes -= chunk.length;
      if (bytes <= 0) {
        answer.pause();
        ending(response);
      }
    });
  });
  const after = (ending) => (bytes) => {
    gate.next = { bytes, ending };
  };
  return {
    root: proxy.root,
    stop: proxy.stop,
    holdAfter: after(() => {}),
    // Only when the bytes before it have left.
    cutAfter: after((response) => setTimeout(() => response.destroy(), 500)),
    endAfter: after((response) => response.end()),
  };
}
