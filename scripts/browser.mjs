// A headless Chromium for the checks of what people look at, and a proxy in front of the service.

import http from "node:http";
import { createRequire } from "node:module";

const tools = createRequire(new URL("../target/node/", import.meta.url));
const { chromium } = tools("playwright-core");

export const PREFIX = "/prefix";

// A name and not 127.0.0.1, for which Swagger UI makes exceptions.
export const HOST = "member-mail.test";

export const service = new URL(process.env.SERVICE_URL);

export function launch() {
  return chromium.launch({
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
}

// Starts a proxy that strips `PREFIX` from the path. `relay` passes the answer on; without it, it is
// passed on as it comes.
export async function startProxy(relay = (answer, response) => answer.pipe(response)) {
  const proxy = http.createServer((request, response) => {
    if (!request.url.startsWith(`${PREFIX}/`)) {
      response.writeHead(404).end();
      return;
    }
    const { method, headers } = request;
    const path = request.url.slice(PREFIX.length);
    const onward = http.request(new URL(path, service), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      relay(answer, response, onward);
    });
    request.pipe(onward);
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return {
    root: `http://${HOST}:${proxy.address().port}${PREFIX}`,
    stop() {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
}

// Notes what a page requests, and what goes wrong in it.
export function watch(page) {
  const requests = [];
  page.on("request", (request) => {
    if (!request.url().startsWith("data:")) {
      requests.push(request.url());
    }
  });
  const faults = [];
  page.on("pageerror", (error) => faults.push(`${error}`));
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  return { requests, faults };
}
