// The list, as its readers use it in a browser.

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
  total,
  visit,
} from "./kit.mjs";

after(closeBrowser);

test("the list is there at once, without a fault and without another host", async () => {
  const { page, paged, requests, faults } = await visit(ROOT);
  await paged.getByText("Rows 1 to 50 of about").waitFor();
  assert.equal(await paged.locator("tbody tr").count(), 50);
  const figures = await paged.locator("dd").allTextContents();
  assert.match(figures.join(" "), /^\d+ ms \d+ ms 50  [\d.]+ kB$/u);
  assert.deepEqual(
    requests.filter((url) => !url.startsWith(`${ROOT}/`)),
    [],
  );
  assert.deepEqual(faults, []);
  assert.equal(await page.title(), "Members · member-mail");
});

test("a search stands in the address, and the back button undoes it", async () => {
  await add("Sören Searched", "searched");
  await add("Other Searched", "searched", { status: "pending" });
  const { page, paged, press } = await visit(ROOT);
  const names = paged.locator("tbody a");

  await page.getByLabel("Tag").fill("searched");
  await page.getByLabel("Order").selectOption("Name, A to Z");
  await press("Search");
  await paged.getByText("Rows 1 to 2 of 2.").waitFor();
  assert.deepEqual(await names.allTextContents(), ["Other Searched", "Sören Searched"]);
  assert.equal(new URL(page.url()).search, "?tag=searched&sort=name");

  await page.getByLabel("Name or e-mail").fill("soren");
  await page.keyboard.press("Enter");
  await paged.getByText("Rows 1 to 1 of 1.").waitFor();
  assert.deepEqual(await names.allTextContents(), ["Sören Searched"]);

  await page.getByLabel("Status").selectOption("Ended");
  await press("Search");
  await paged.getByText("No members match.").waitFor();

  await page.goBack();
  await paged.getByText("Rows 1 to 1 of 1.").waitFor();
  assert.equal(await page.getByLabel("Status").inputValue(), "");
  await page.goBack();
  await paged.getByText("Rows 1 to 2 of 2.").waitFor();
  assert.equal(await page.getByLabel("Name or e-mail").inputValue(), "");

  const linked = await visit(page.url());
  await linked.paged.getByText("Rows 1 to 2 of 2.").waitFor();
  assert.equal(await linked.page.getByLabel("Tag").inputValue(), "searched");
});

test("pages are chosen by number and size, and turned", async () => {
  const { page, paged, press } = await visit(`${ROOT}/?tag=board`);
  const all = await total("tag=board");
  await page.getByLabel("Size").fill("100");
  await press("Load page");
  await paged.getByText(`Rows 1 to 100 of`).waitFor();
  await press("Next");
  await paged.getByText(`Rows 101 to ${all} of ${all}.`).waitFor();
  assert.equal(new URL(page.url()).search, "?tag=board&page=2&size=100");
  const next = page.getByRole("button", { name: "Next" });
  assert.equal(await next.getAttribute("aria-disabled"), "true");
  await press("Previous");
  await paged.getByText("Rows 1 to 100 of").waitFor();
  await page.getByLabel("Page", { exact: true }).fill("9");
  await press("Load page");
  await paged.getByText("There is no such page.").waitFor();
  await press("Search");
  await paged.getByText("Rows 1 to 100 of").waitFor();
});

test("the exports are the list as searched", async () => {
  const { page, paged } = await visit(`${ROOT}/?q=a%26b%2B&sort=name&page=2`);
  await paged.getByText("There is no such page.").waitFor();
  for (const format of ["csv", "ndjson"]) {
    const href = await page.locator(`#${format}`).getAttribute("href");
    assert.equal(href, `${ROOT}/api/v1/members?q=a%26b%2B&sort=name&format=${format}`);
  }
});

test("a member is read with the keyboard alone, and the way back leads to where it began", async () => {
  const ann = await add("Ann Keyboard", "keyboard", { attributes: { locker: 12 } });
  for (let number = 1; number <= 25; number += 1) {
    await addMail(ann, { subject: `Mail ${number}` });
  }
  const { page, paged, press } = await visit(`${ROOT}/?tag=keyboard`);
  const link = paged.getByRole("link", { name: "Ann Keyboard" });
  await link.focus();
  await page.keyboard.press("Enter");
  await page.getByText("20 shown, newest first.").waitFor();
  assert.equal(await focused(page), "Ann Keyboard");
  assert.equal(await page.title(), "Ann Keyboard · member-mail");
  const fields = await page.locator("#member > .record").textContent();
  for (const value of [ann.id, '"locker": 12', "keyboard", "active", ann.joined]) {
    assert.ok(fields.includes(value), `${value} in ${fields}`);
  }
  assert.deepEqual(await accessibilityFaults(page), []);

  await page.getByRole("button", { name: "More" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("25 shown, newest first.").waitFor();
  const subjects = await page.locator(".subject").allTextContents();
  const expected = Array.from({ length: 25 }, (_, index) => `Mail ${25 - index}`);
  assert.deepEqual(subjects, expected);
  assert.equal(await page.getByRole("button", { name: "More" }).count(), 0);
  assert.equal(await focused(page), "Mail");
  await page.locator("summary").first().focus();
  await page.keyboard.press("Enter");
  await page.locator("details[open]").getByText("ann@example.org").waitFor();

  await page.goBack();
  await link.waitFor();
  assert.equal(await focused(page), "Ann Keyboard");
  await page.goForward();
  await page.getByText("20 shown, newest first.").waitFor();
  await page.getByRole("link", { name: "Back to the list" }).click();
  await link.waitFor();

  const linked = await visit(`${ROOT}/#member/${ann.id}`);
  await linked.page.getByText("20 shown, newest first.").waitFor();
  await linked.page.getByRole("link", { name: "Back to the list" }).click();
  await linked.paged.getByText("Rows 1 to 50").waitFor();
});

test("mail is read on and on, a page at a time", async () => {
  const bo = await add("Bo Mailed", "mailed");
  for (let number = 1; number <= 130; number += 1) {
    await addMail(bo, { subject: `${number}` });
  }
  const { page, press } = await visit(`${ROOT}/#member/${bo.id}`);
  for (const shown of [20, 100, 130]) {
    await page.getByText(`${shown} shown, newest first.`).waitFor();
    if (shown < 130) {
      await press("More");
    }
  }
  const subjects = await page.locator(".subject").allTextContents();
  assert.equal(new Set(subjects).size, 130);
});

test("what a name looks like makes no difference: it stays a text", async () => {
  const name = `<script>document.title = "run"</script><img src=x onerror="document.title = 'run'">`;
  const member = await add(name, "markup");
  await addMail(member, { subject: name, status_reason: name });
  const { page, paged, faults } = await visit(`${ROOT}/?tag=markup`);
  await paged.getByRole("link", { name }).click();
  await page.getByRole("heading", { name }).waitFor();
  await page.locator("summary").click();
  assert.equal(await page.locator("main img, main script").count(), 0);
  assert.equal(await page.title(), `${name} · member-mail`);
  assert.deepEqual(faults, []);
});

test("a refusal is shown with its title, its detail and the parameter", async () => {
  const { page, paged, press } = await visit(`${ROOT}/?page=500&size=500`);
  const alert = paged.getByRole("alert");
  await alert.getByText("page: `page` times `size` is at most").waitFor();
  const link = alert.getByRole("link", { name: "What this means" });
  assert.equal(await link.getAttribute("href"), "problems/invalid_parameter");
  assert.deepEqual(await accessibilityFaults(page), []);

  await page.getByLabel("Page", { exact: true }).fill("20");
  await press("Load page");
  await paged.getByText("Pages go no further").waitFor();
  assert.equal(await alert.textContent(), "");

  const nobody = await visit(`${ROOT}/#member/018cc251-f400-7000-8000-00000000ffff`);
  await nobody.page.getByRole("alert").getByText("There is no such member").waitFor();
});

test("a service that is away is told from one that something else answers for", async () => {
  const { page, paged, press } = await visit(ROOT);
  await paged.getByText("Rows 1 to 50").waitFor();
  const alert = paged.getByRole("alert");

  await page.route("**/api/**", (route) => route.abort());
  await press("Load page");
  await alert.getByText("The service cannot be reached").waitFor();

  await page.unroute("**/api/**");
  await page.route("**/api/**", (route) =>
    route.fulfill({ status: 502, contentType: "text/html", body: "<h1>Bad gateway</h1>" }),
  );
  await press("Load page");
  await alert.getByText("Something in between answered, with status 502.").waitFor();

  await page.unroute("**/api/**");
  await press("Load page");
  await paged.getByText("Rows 1 to 50").waitFor();
});

test("the page is accessible in light and dark, and fits a phone", async () => {
  for (const visitor of [
    { colorScheme: "light" },
    { colorScheme: "dark" },
    { viewport: { width: 320, height: 600 } },
  ]) {
    const { page, paged } = await visit(ROOT, visitor);
    await paged.getByText("Rows 1 to 50").waitFor();
    assert.deepEqual(await accessibilityFaults(page), [], JSON.stringify(visitor));
    assert.equal(await overflow(page), 0, JSON.stringify(visitor));
  }
});

test("without JavaScript the page says so", async () => {
  const { page } = await visit(ROOT, { javaScriptEnabled: false });
  const said = page.locator("noscript");
  assert.ok(await said.isVisible());
  assert.match(await said.innerText(), /^This page needs JavaScript\./u);
  assert.equal(await page.getByRole("button").count(), 0);
});
