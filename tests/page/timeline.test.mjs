// What became of a mail, as a member's view tells it.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import {
  ROOT,
  accessibilityFaults,
  add,
  addMail,
  closeBrowser,
  focused,
  overflow,
  report,
  retry,
  visit,
} from "./kit.mjs";

after(closeBrowser);

const DAY = "2024-03-01";

// The page with the member, and with this mail record open.
async function visitMail({ member_id, id }, visitor) {
  const visited = await visit(`${ROOT}/#member/${member_id}/mail-records/${id}`, visitor);
  const opened = visited.page.locator("details[open]");
  const events = opened.locator(".timeline li");
  await events.first().waitFor();
  return { ...visited, opened, events };
}

test("a timeline has the events as they occurred, whatever the order they came in", async () => {
  const ann = await add("Ann Timeline", "timeline");
  const mail = await addMail(ann, { status: "queued", status_at: `${DAY}T12:00:00Z` });
  await report(mail, {
    type: "bounced",
    occurred_at: `${DAY}T12:00:09Z`,
    source: "postmark",
    smtp_code: 550,
    enhanced_code: "5.1.1",
    diagnostic: "550 5.1.1 no such user",
    remote_mta: "mx.example.org",
  });
  await report(mail, [
    { type: "delivered", occurred_at: `${DAY}T12:00:05Z` },
    { type: "clicked", occurred_at: `${DAY}T12:00:08Z`, url: "https://club.example/card" },
    { type: "opened", occurred_at: `${DAY}T12:00:07Z` },
    { type: "opened", occurred_at: `${DAY}T12:00:06Z` },
    { type: "sent", occurred_at: `${DAY}T12:00:01Z` },
  ]);
  const { page, opened, events, faults } = await visitMail(mail);
  await opened.getByText("7 shown, oldest first.").waitFor();
  const heads = await events.locator(".what").evaluateAll((all) =>
    all.map((head) => [...head.children].map((part) => part.textContent)),
  );
  const second = (number) => `${DAY} 12:00:0${number} UTC`;
  assert.deepEqual(heads, [
    ["queued", second(0), "applied"],
    ["sent", second(1), "superseded"],
    ["delivered", second(5), "applied"],
    ["opened", second(6), "applied"],
    ["opened", second(7), "applied"],
    ["clicked", second(8), "applied"],
    ["bounced", second(9), "decides the status"],
  ]);
  const bounce = events.last();
  assert.equal(await bounce.locator(".said").textContent(), "550 5.1.1 no such user");
  const facts = await bounce.locator(".facts div").allInnerTexts();
  assert.deepEqual(
    facts.map((fact) => fact.replace(/\s+/gu, " ")).filter((fact) => !/^Received at/u.test(fact)),
    ["Source postmark", "Smtp code 550", "Enhanced code 5.1.1", "Remote mta mx.example.org"],
  );
  await events.nth(5).getByText("https://club.example/card").waitFor();

  const outcome = await opened.locator(".record").first().locator("dd").allTextContents();
  assert.deepEqual(outcome, [
    `bounced, ${second(9)}550 5.1.1 no such user`,
    `2 times, first ${second(6)}`,
    `1 time, first ${second(8)}`,
  ]);
  assert.deepEqual(await accessibilityFaults(page), []);
  assert.deepEqual(faults, []);
});

test("what stands in an event stays a text", async () => {
  const markup = `<script>document.title = "run"</script><img src=x onerror="document.title = 'run'">`;
  const mail = await addMail(await add("Bo Markup", "timeline"));
  const texts = { source: markup, diagnostic: markup, remote_mta: markup, url: markup };
  await report(mail, { type: "bounced", provider_event_id: markup, ...texts });
  const { page, opened, events, faults } = await visitMail(mail);
  assert.equal(await events.last().getByText(markup).count(), 5);
  // The reason of the status, too.
  assert.equal(await opened.locator(".record").getByText(markup).count(), 1);
  assert.equal(await page.locator("main img, main script, main a[href^='javascript:']").count(), 0);
  assert.equal(await page.title(), "Bo Markup · member-mail");
  assert.deepEqual(faults, []);
});

test("attempts are followed both ways with the keyboard alone", async () => {
  const ann = await add("Ann Retried", "timeline");
  const first = await addMail(ann, { subject: "The first", status: "failed" });
  const second = await retry(first);
  const place = (mail) => `#member/${ann.id}/mail-records/${mail.id}`;
  const { page } = await visit(`${ROOT}/#member/${ann.id}`);
  await page.getByText("2 shown, newest first.").waitFor();
  const lines = page.locator("summary");

  await lines.last().focus();
  await page.keyboard.press("Enter");
  const details = page.locator("details");
  await details.last().getByText("1 shown, oldest first.").waitFor();
  assert.equal(new URL(page.url()).hash, place(first));
  await page.keyboard.press("Tab");
  assert.equal(await focused(page), "The retry");
  await page.keyboard.press("Enter");
  await details.first().getByText("1 shown, oldest first.").waitFor();
  assert.equal(new URL(page.url()).hash, place(second));
  assert.match(await focused(page), /^The firstrecorded/u);
  await page.keyboard.press("Tab");
  assert.equal(await focused(page), "The attempt before");
  await page.keyboard.press("Enter");
  await page.waitForFunction((hash) => location.hash === hash, place(first));
  assert.match(await focused(page), /^The firstfailed/u);

  await page.goBack();
  await page.waitForFunction((hash) => location.hash === hash, place(second));
  assert.match(await focused(page), /^The firstrecorded/u);
  await page.keyboard.press("Enter");
  await page.waitForFunction((hash) => location.hash === hash, `#member/${ann.id}`);
  assert.equal(await page.locator("details[open]").count(), 1);
  await page.getByRole("link", { name: "Back to the list" }).click();
  await page.getByRole("region", { name: "Page by page" }).getByText("Rows 1 to 50").waitFor();
});

test("a link leads to a mail record that is older than those shown, and the rest comes around it", async () => {
  const bo = await add("Bo Linked", "timeline");
  await addMail(bo, { subject: "Mail 1" });
  const second = await addMail(bo, { subject: "Mail 2" });
  for (let number = 3; number <= 25; number += 1) {
    await addMail(bo, { subject: `Mail ${number}` });
  }
  const { page, opened, press } = await visitMail(second);
  await page.getByText("21 shown, newest first.").waitFor();
  assert.match(await focused(page), /^Mail 2recorded/u);
  await press("More");
  await page.getByText("25 shown, newest first.").waitFor();
  const expected = Array.from({ length: 25 }, (_, index) => `Mail ${25 - index}`);
  assert.deepEqual(await page.locator(".subject").allTextContents(), expected);
  assert.match(await opened.textContent(), /^Mail 2recorded/u);

  const nobody = await visit(`${ROOT}/#member/${bo.id}/mail-records/${bo.id}`);
  await nobody.page.getByRole("alert").getByText("There is no such mail record").waitFor();
  await nobody.page.getByText("20 shown, newest first.").waitFor();
});

test("opening a mail record reads it anew", async () => {
  const mail = await addMail(await add("Ann Anew", "timeline"), { status: "sent" });
  const { page, opened, events } = await visitMail(mail);
  await opened.getByText("1 shown, oldest first.").waitFor();
  await report(mail, { type: "delivered" });
  await page.locator("summary").click();
  await page.locator("summary").click();
  await opened.getByText("2 shown, oldest first.").waitFor();
  await events.last().getByText("decides the status").waitFor();
  assert.match(await page.locator("summary").textContent(), /^Your carddelivered/u);
});

test("all mail is summed up above its list", async () => {
  const bo = await add("Bo Summed", "timeline");
  for (const [status, second] of [["sent", 1], ["delivered", 2], ["bounced", 3], ["delivered", 4]]) {
    await addMail(bo, { status, status_at: `${DAY}T12:00:0${second}Z` });
  }
  const { page } = await visit(`${ROOT}/#member/${bo.id}`);
  await page.getByText("4 shown, newest first.").waitFor();
  assert.deepEqual(await page.locator(".summary dd").allTextContents(), [
    "4: 1 sent, 2 delivered, 1 bounced",
    `${DAY} 12:00:04 UTC`,
    `${DAY} 12:00:03 UTC`,
  ]);

  const nobody = await visit(`${ROOT}/#member/${(await add("Ann Unmailed", "timeline")).id}`);
  await nobody.page.getByText("No mail was written down.").waitFor();
  assert.equal(await nobody.page.locator(".summary dd").count(), 0);
});

test("a long timeline is read on", async () => {
  const mail = await addMail(await add("Bo Long", "timeline"), { status_at: `${DAY}T00:00:00Z` });
  const opens = Array.from({ length: 129 }, (_, index) => ({
    type: "opened",
    occurred_at: new Date(Date.parse(`${DAY}T00:01:00Z`) + index * 1000).toISOString(),
  }));
  await report(mail, opens.toReversed());
  const { page, opened, events } = await visitMail(mail);
  await opened.getByText("100 shown, oldest first.").waitFor();
  await page.getByRole("button", { name: "More events" }).focus();
  await page.keyboard.press("Enter");
  await opened.getByText("130 shown, oldest first.").waitFor();
  const times = await events.locator(".what time").evaluateAll((all) => all.map((time) => time.dateTime));
  assert.deepEqual(times, times.toSorted());
  assert.equal(new Set(times).size, 130);
  assert.equal(await page.getByRole("button", { name: "More events" }).count(), 0);
  assert.equal(await focused(page), "Timeline");
});

test("a timeline that cannot be read says so, and is read when asked again", async () => {
  const mail = await addMail(await add("Ann Away", "timeline"));
  const { page } = await visit(`${ROOT}/#member/${mail.member_id}`);
  await page.getByText("1 shown, newest first.").waitFor();
  await page.route("**/api/**", (route) => route.abort());
  await page.locator("summary").click();
  const opened = page.locator("details[open]");
  await opened.getByRole("alert").getByText("The service cannot be reached").waitFor();
  await opened.getByText("ann@example.org").waitFor();
  assert.deepEqual(await accessibilityFaults(page), []);

  await page.unroute("**/api/**");
  await page.getByRole("button", { name: "Try again" }).focus();
  await page.keyboard.press("Enter");
  await opened.getByText("1 shown, oldest first.").waitFor();
  assert.equal(await opened.getByRole("alert").textContent(), "");
  assert.equal(await focused(page), "Timeline");
});

test("a timeline is accessible in light and dark, and fits a phone", async () => {
  const mail = await addMail(await add("Bo Fitting", "timeline"), { status: "delivered" });
  const long = "x".repeat(300);
  await report(mail, [
    { type: "sent", diagnostic: `${long}\n${long}`, source: "x".repeat(100), remote_mta: "x".repeat(255) },
    { type: "clicked", url: `https://club.example/${long}`, provider_event_id: "x".repeat(255) },
    { type: "bounced", diagnostic: long, smtp_code: 550 },
  ]);
  for (const visitor of [
    { colorScheme: "light" },
    { colorScheme: "dark" },
    { viewport: { width: 320, height: 600 } },
  ]) {
    const { page } = await visitMail(mail, visitor);
    assert.deepEqual(await accessibilityFaults(page), [], JSON.stringify(visitor));
    assert.equal(await overflow(page), 0, JSON.stringify(visitor));
  }
});
