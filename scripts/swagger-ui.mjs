// Uses Swagger UI as a reader does, in a headless Chromium: executes the list and POST as the
// examples stand, each twice, on the service itself and behind a proxy that strips a prefix. Fails
// on an answer that is not a success, and on any request to another host.
//
//   scripts/swagger-ui.sh [screenshot.png]

import assert from "node:assert/strict";
import { HOST, launch, service, startProxy, watch } from "./browser.mjs";

const [screenshot] = process.argv.slice(2);

const proxy = await startProxy();
const browser = await launch();

// Executes the open operation; answers the status once the page shows it.
async function execute(page, operation) {
  const answered = page.waitForResponse((answer) => answer.url().includes("/api/v1/"));
  await operation.getByRole("button", { name: "Execute" }).click();
  const status = (await answered).status();
  const shown = operation.locator(".live-responses-table .response-col_status");
  await shown.filter({ hasText: `${status}` }).waitFor();
  return status;
}

async function use(root, shot) {
  const page = await browser.newPage({ viewport: { width: 1000, height: 1500 } });
  const { requests, faults } = watch(page);

  // Without the slash at its end, so that the redirect is used too.
  await page.goto(`${root}/swagger-ui`);
  for (const [id, status] of [
    ["list_members", 200],
    ["create_member", 201],
  ]) {
    const operation = page.locator(`#operations-members-${id}`);
    await operation.locator(".opblock-summary-control").click();
    for (const time of ["first", "second"]) {
      assert.equal(await execute(page, operation), status, `${root}: ${id} for the ${time} time`);
    }
    if (shot && id === "list_members") {
      await operation.evaluate((element) => element.scrollIntoView());
      await page.screenshot({ path: shot });
    }
    await operation.locator(".opblock-summary-control").click();
  }
  await page.close();

  const elsewhere = requests.filter((url) => !url.startsWith(`${root}/`));
  assert.deepEqual(elsewhere, [], `${root}: requests to another place`);
  const executed = requests.filter((url) => url.includes("/api/v1/members"));
  assert.equal(executed.length, 4, requests.join("\n"));
  assert.deepEqual(faults, [], root);
  console.log(`${root}: ${requests.length} requests, none elsewhere; list and POST executed twice`);
}

try {
  await use(`http://${HOST}:${service.port}`, screenshot);
  await use(proxy.root);
} finally {
  await browser.close();
  proxy.stop();
}
