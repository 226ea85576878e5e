// Uses Swagger UI as a reader does, in a headless Chromium: executes the list and POST as the
// examples stand, each twice, on the service itself and behind a proxy that strips a prefix. Fails
// on an answer that is not a success, and on any request to another host.
//
//   scripts/swagger-ui.sh [screenshot.png]

import assert from "node:assert/strict";
import http from "node:http";
import { createRequire } from "node:module";

const tools = createRequire(new URL("../target/node/", import.meta.url));
const { chromium } = tools("playwright-core");

const service = new URL(process.env.SERVICE_URL);
const [screenshot] = process.argv.slice(2);
const PREFIX = "/prefix";

// A name and not 127.0.0.1, for which Swagger UI makes exceptions.
const HOST = "member-mail.test";

const proxy = http.createServer((request, response) => {
  if (!request.url.startsWith(`${PREFIX}/`)) {
    response.writeHead(404).end();
    return;
  }
  const { method, headers } = request;
  const path = request.url.slice(PREFIX.length);
  const onward = http.request(new URL(path, service), { method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  request.pipe(onward);
});
await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: [
    `--host-resolver-rules=MAP ${HOST} 127.0.0.1`,
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
  ],
});

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
  const requests = [];
  page.on("request", (request) => requests.push(request));
  const faults = [];
  page.on("pageerror", (error) => faults.push(`${error}`));
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));

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

  const urls = requests.map((request) => request.url()).filter((url) => !url.startsWith("data:"));
  const elsewhere = urls.filter((url) => !url.startsWith(`${root}/`));
  assert.deepEqual(elsewhere, [], `${root}: requests to another place`);
  assert.equal(urls.filter((url) => url.includes("/api/v1/members")).length, 4, urls.join("\n"));
  assert.deepEqual(faults, [], root);
  console.log(`${root}: ${urls.length} requests, none elsewhere; list and POST executed twice`);
}

try {
  await use(`http://${HOST}:${service.port}`, screenshot);
  await use(`http://${HOST}:${proxy.address().port}${PREFIX}`);
} finally {
  await browser.close();
  proxy.closeAllConnections();
  proxy.close();
}
