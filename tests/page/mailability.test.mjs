// Whether a member may be mailed, as the page tells it.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import {
  ROOT,
  accessibilityFaults,
  add,
  addMail,
  closeBrowser,
  consent,
  overflow,
  report,
  suppress,
  visit,
} from "./kit.mjs";

after(closeBrowser);

// The member's view, and what it says of transactional and of marketing mail.
async function visitMember({ id }, visitor) {
  const visited = await visit(`${ROOT}/#member/${id}`, visitor);
  const mailability = visited.page.getByRole("region", { name: "Mailability", exact: true });
  await mailability.locator("dd").last().waitFor();
  const answers = await mailability.locator("dd").allTextContents();
  const badge = await mailability.locator(".badge").textContent();
  return { ...visited, badge, answers };
}

test("an address in order may get any mail", async () => {
  const ann = await add("Ann Mailable", "mailability", { email: "ann.mailable@example.org" });
  const { badge, answers, faults } = await visitMember(ann);
  assert.equal(badge, "ok");
  assert.deepEqual(answers, ["may be sent", "may be sent", "–"]);
  assert.deepEqual(faults, []);
});

test("a suppressed address gets no mail, for the reason that is told", async () => {
  const bo = await add("Bo Suppressed", "mailability", { email: "bo.suppressed@example.org" });
  await suppress("Bo.Suppressed@example.org", { reason: "invalid", expires_at: "2199-01-01T00:00:00Z" });
  const { page, badge, answers } = await visitMember(bo);
  assert.equal(badge, "suppressed");
  const told = "must not be sentthe address is suppressed: invalid, until 2199-01-01 00:00:00 UTC";
  assert.deepEqual(answers, [told, told, "–"]);
  assert.deepEqual(await accessibilityFaults(page), []);
});

test("who unsubscribed gets no marketing mail, and all other", async () => {
  const ann = await add("Ann Unsubscribed", "mailability", { email: "ann.unsubscribed@example.org" });
  await consent(ann, { state: "withdrawn", occurred_at: "2024-03-01T12:00:00Z" });
  const { badge, answers } = await visitMember(ann);
  assert.equal(badge, "unsubscribed");
  assert.deepEqual(answers, [
    "may be sent",
    "must not be sentconsent was withdrawn",
    "all marketing mail: withdrawn, 2024-03-01 12:00:00 UTC",
  ]);
});

test("what was said on each topic is told as it stands today", async () => {
  const bo = await add("Bo Topical", "mailability", { email: "bo.topical@example.org" });
  const say = (topic, state, month) =>
    consent(bo, { topic, state, occurred_at: `2024-0${month}-01T12:00:00Z` });
  await say("newsletter", "pending", 1);
  await say("newsletter", "withdrawn", 2);
  const newsletter = "newsletter: withdrawn, 2024-02-01 12:00:00 UTC";
  const refused = await visitMember(bo);
  assert.equal(refused.badge, "unsubscribed");
  assert.deepEqual(refused.answers, [
    "may be sent",
    "must not be sentconsent was withdrawn",
    newsletter,
  ]);

  await say("offers", "granted", 3);
  const { badge, answers } = await visitMember(bo);
  assert.equal(badge, "ok");
  assert.deepEqual(answers, [
    "may be sent",
    "may be sent",
    `offers: granted, 2024-03-01 12:00:00 UTC${newsletter}`,
  ]);
});

test("after a complaint the address gets no mail", async () => {
  const bo = await add("Bo Complained", "mailability", { email: "bo.complained@example.org" });
  const mail = await addMail(bo, { recipient: bo.email });
  await report(mail, { type: "complained" });
  const { answers } = await visitMember(bo);
  const told = "must not be sentthe address is suppressed: complaint";
  assert.deepEqual(answers, [told, told, "–"]);
});

test("a member without an address gets no mail", async () => {
  const { badge, answers } = await visitMember(await add("Ann Addressless", "mailability"));
  assert.equal(badge, "no address");
  const told = "must not be sentno address is known";
  assert.deepEqual(answers, [told, told, "–"]);
});

test("the list tells who cannot get all mail, and finds them", async () => {
  const tag = "mailability-list";
  await add("Ok", tag, { email: "ok.list@example.org" });
  await add("Addressless", tag);
  await add("Suppressed", tag, { email: "suppressed.list@example.org" });
  await suppress("suppressed.list@example.org");
  const unsubscribed = await add("Unsubscribed", tag, { email: "unsubscribed.list@example.org" });
  await consent(unsubscribed, { state: "withdrawn" });
  const { page, paged, press } = await visit(`${ROOT}/?tag=${tag}&sort=name`);
  await paged.getByText("Rows 1 to 4 of 4.").waitFor();
  // Rows come with the next frame.
  await paged.locator("tbody tr").nth(3).waitFor();
  assert.deepEqual(await paged.locator("tbody th").allTextContents(), [
    "Addresslessno address",
    "Okok.list@example.org",
    "Suppressedsuppressed.list@example.orgsuppressed",
    "Unsubscribedunsubscribed.list@example.orgunsubscribed",
  ]);
  assert.deepEqual(await accessibilityFaults(page), []);

  await page.getByRole("combobox", { name: "Mailability" }).selectOption("Suppressed");
  await press("Search");
  await paged.getByText("Rows 1 to 1 of 1.").waitFor();
  assert.deepEqual(await paged.locator("tbody a").allTextContents(), ["Suppressed"]);
  assert.equal(new URL(page.url()).search, `?mailability=suppressed&tag=${tag}&sort=name`);
});

test("the member and the mail are there even if the mailability cannot be read", async () => {
  const ann = await add("Ann Unread", "mailability");
  await addMail(ann);
  const { page } = await visit(`${ROOT}/?tag=mailability`);
  await page.route("**/mail-eligibility*", (route) => route.abort());
  await page.getByRole("link", { name: "Ann Unread" }).click();
  const mailability = page.getByRole("region", { name: "Mailability", exact: true });
  await mailability.getByRole("alert").getByText("The service cannot be reached").waitFor();
  await page.getByText("1 shown, newest first.").waitFor();

  await page.unroute("**/mail-eligibility*");
  await page.goBack();
  await page.goForward();
  await mailability.getByText("no address is known").first().waitFor();
  assert.equal(await mailability.getByRole("alert").textContent(), "");
});

test("the mailability is accessible in light and dark, and fits a phone", async () => {
  const email = `${"x".repeat(60)}@${"x".repeat(60)}.example`;
  const bo = await add("Bo Fitting", "mailability", { email });
  await suppress(email, { reason: "hard_bounce" });
  await suppress(email, { reason: "unsubscribe" });
  for (const visitor of [
    { colorScheme: "light" },
    { colorScheme: "dark" },
    { viewport: { width: 320, height: 600 } },
  ]) {
    const { page, answers } = await visitMember(bo, visitor);
    assert.match(answers[1], /hard bounce.*unsubscribe|unsubscribe.*hard bounce/u);
    assert.deepEqual(await accessibilityFaults(page), [], JSON.stringify(visitor));
    assert.equal(await overflow(page), 0, JSON.stringify(visitor));
    await page.getByRole("link", { name: "Back to the list" }).click();
    await page.getByRole("region", { name: "Page by page" }).getByText("Rows 1 to 50").waitFor();
    assert.deepEqual(await accessibilityFaults(page), [], JSON.stringify(visitor));
    assert.equal(await overflow(page), 0, JSON.stringify(visitor));
  }
});
