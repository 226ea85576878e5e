// The page of a service that needs an access key. Once one is made, all other tests would need it: so
// these have a service of their own.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";

import { ROOT, accessibilityFaults, api, closeBrowser, visit } from "../kit.mjs";

after(closeBrowser);

const scopes = ["members:read", "mail:read", "admin"];
const { key } = await api("access-keys", { method: "POST", body: { name: "support", scopes } });

async function signIn(page, value = key) {
  const dialog = page.getByRole("dialog", { name: "Sign in" });
  await dialog.waitFor();
  await dialog.getByLabel("Access key").fill(value);
  await dialog.getByRole("button", { name: "Sign in" }).click();
}

test("nothing is shown before a key is given, and all with it", async () => {
  const { page, paged, streamed, press, requests } = await visit(ROOT);
  const dialog = page.getByRole("dialog", { name: "Sign in" });
  await dialog.waitFor();
  assert.equal(await paged.locator("tbody tr").count(), 0);
  assert.deepEqual(await accessibilityFaults(page), []);
  await signIn(page);
  await paged.locator("tbody tr").first().waitFor();
  await press("Stream");
  await streamed.getByText("The list is complete: 18,993 rows.").waitFor();

  await paged.locator("tbody a").first().click();
  await page.getByRole("region", { name: "Mailability" }).locator("dd").last().waitFor();
  assert.deepEqual(requests.filter((request) => `${request}`.includes("mmk_")), []);
});

test("a key that opens nothing is told, and another can be given", async () => {
  const { page, paged } = await visit(ROOT);
  await signIn(page, `${key}0`);
  const dialog = page.getByRole("dialog", { name: "Sign in" });
  await dialog.getByText("The access key opens nothing").waitFor();
  assert.deepEqual(await accessibilityFaults(page), []);
  await signIn(page);
  await paged.locator("tbody tr").first().waitFor();
});

test("the key is in no storage, and gone when the page is loaded again", async () => {
  const { page, paged, press } = await visit(ROOT);
  await signIn(page);
  await paged.locator("tbody tr").first().waitFor();
  const kept = await page.evaluate(() =>
    JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, history.state, location.href]),
  );
  assert.ok(!kept.includes("mmk_"), kept);
  assert.ok(!(await page.content()).includes("mmk_"));
  await press("Sign out");
  await page.getByRole("dialog", { name: "Sign in" }).waitFor();
  assert.equal(await paged.locator("tbody tr").count(), 0);
});

test("the whole list is exported with the key", async () => {
  const { page, paged } = await visit(ROOT);
  await signIn(page);
  await paged.locator("tbody tr").first().waitFor();
  for (const [name, lines] of [["CSV", 18_994], ["NDJSON", 18_993]]) {
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name, exact: true }).click();
    const file = readFileSync(await (await download).path(), "utf8");
    assert.equal(file.trimEnd().split("\n").length, lines);
  }
});

test("what the key does not allow is told in its place", async () => {
  const body = { name: "reader", scopes: ["members:read"] };
  const { key: reader } = await api("access-keys", { method: "POST", body, key });
  const { page, paged } = await visit(ROOT);
  await signIn(page, reader);
  await paged.locator("tbody a").first().click();
  await page.getByText("The access key does not allow this").first().waitFor();
});
