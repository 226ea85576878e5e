// The list as a stream, behind a proxy that strips a prefix and can stop it in its middle.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { accessibilityFaults, closeBrowser, startGate, total, visit } from "./kit.mjs";

const gate = await startGate();
after(() => {
  gate.stop();
  return closeBrowser();
});

// Some 190 members, who all have room in the table, and bytes that end amid them.
const SOME = "tag=board";
const AMID = 20_000;

// Expects that the whole stream was shown, each row once.
async function expectWhole(streamed) {
  const rows = await total(SOME);
  await streamed.getByText(`The list is complete: ${rows} rows.`).waitFor();
  await streamed.locator("tbody tr").nth(rows - 1).waitFor();
  const hrefs = await streamed
    .locator("tbody a")
    .evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  assert.equal(hrefs.length, rows);
  assert.equal(new Set(hrefs).size, rows);
}

test("the whole list is counted, and its latest rows are shown", async () => {
  const { streamed, requests, faults, press } = await visit(`${gate.root}/`);
  await press("Stream");
  await streamed.getByText("The list is complete").waitFor();
  const rows = (await total("")).toLocaleString("en");
  await streamed.getByText(`The list is complete: ${rows} rows.`).waitFor();
  await streamed.getByText(`The latest 1,000 of ${rows} rows are shown.`).waitFor();
  const last = streamed.locator("tbody tr").last();
  await last.getByText("Person 1", { exact: true }).waitFor();
  assert.equal(await streamed.locator("tbody tr").count(), 1000);
  const figures = await streamed.locator("dd").allTextContents();
  assert.match(figures.join(" "), /^[\d.]+ m?s [\d.]+ m?s [\d,]+  [\d.]+ MB$/u);
  assert.equal(await streamed.getByRole("progressbar").getAttribute("value"), "1");
  assert.deepEqual(
    requests.filter((url) => !url.startsWith(`${gate.root}/`)),
    [],
  );
  assert.deepEqual(faults, []);
});

test("a stream is stopped in its middle and resumed, and has each row once", async () => {
  const { page, streamed, press } = await visit(`${gate.root}/?${SOME}`);
  const button = (name) => streamed.getByRole("button", { name });
  assert.equal(await button("Stop").getAttribute("aria-disabled"), "true");
  gate.holdAfter(AMID);
  await press("Stream");
  await streamed.locator("tbody tr").nth(20).waitFor();
  await streamed.getByText("of about").or(streamed.getByText(/of \d/u)).waitFor();
  assert.equal(await button("Resume").getAttribute("aria-disabled"), "true");
  await press("Stop");
  await streamed.getByText(/^Stopped after \d+ rows\.$/u).waitFor();
  assert.equal(await button("Stop").getAttribute("aria-disabled"), "true");
  await press("Resume");
  await expectWhole(streamed);
  assert.deepEqual(await accessibilityFaults(page), []);
});

test("a transfer that breaks off is told, and resumed where it broke", async () => {
  const { streamed, press } = await visit(`${gate.root}/?${SOME}`);
  gate.cutAfter(AMID);
  await press("Stream");
  await streamed.getByRole("alert").getByText("The transfer broke off").waitFor();
  await press("Resume");
  await expectWhole(streamed);
  assert.equal(await streamed.getByRole("alert").textContent(), "");
});

test("a stream that ends without saying so is not taken for the whole list", async () => {
  const { streamed, press } = await visit(`${gate.root}/?${SOME}`);
  gate.endAfter(AMID);
  await press("Stream");
  await streamed.getByRole("alert").getByText("The stream broke off").waitFor();
  await press("Resume");
  await expectWhole(streamed);
});

test("a failure in the middle of a stream is shown as what it is", async () => {
  const { page, streamed, press } = await visit(`${gate.root}/?${SOME}`);
  const problem = { title: "The database is away", detail: "Try later.", code: "x" };
  await page.route("**/api/**", (route) =>
    route.fulfill({
      contentType: "text/event-stream",
      body: `event: error\ndata: ${JSON.stringify(problem)}\n\n`,
    }),
  );
  await press("Stream");
  const alert = streamed.getByRole("alert");
  await alert.getByText("The database is away").waitFor();
  await alert.getByText("Try later.").waitFor();
});

test("a stream that was stopped before its last words is complete", async () => {
  const { page, streamed, press } = await visit(`${gate.root}/?${SOME}`);
  gate.holdAfter(AMID);
  await press("Stream");
  await streamed.locator("tbody tr").nth(20).waitFor();
  await press("Stop");
  await page.route("**/api/**", (route) => route.fulfill({ status: 204 }));
  await press("Resume");
  await streamed.getByText("The list is complete").waitFor();
});

test("another search ends the stream and forgets where it was", async () => {
  const { page, streamed, press } = await visit(`${gate.root}/`);
  gate.holdAfter(AMID);
  await press("Stream");
  await streamed.locator("tbody tr").nth(20).waitFor();
  await page.getByLabel("Tag").fill("board");
  await press("Search");
  await streamed.locator("tbody").waitFor({ state: "hidden" });
  const resume = streamed.getByRole("button", { name: "Resume" });
  assert.equal(await resume.getAttribute("aria-disabled"), "true");
  await press("Stream");
  await expectWhole(streamed);
});

test("a stream has the filters that stand in the fields, and brings the address up to them", async () => {
  const { page, streamed, paged, press } = await visit(`${gate.root}/`);
  await page.getByLabel("Tag").fill("board");
  await press("Stream");
  await expectWhole(streamed);
  await paged.getByText("Rows 1 to 50 of").waitFor();
  assert.equal(new URL(page.url()).search, `?${SOME}`);
});
