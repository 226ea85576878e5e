// Links to files, which are fetched where a key is needed: a link sends none.

import { signedIn } from "./access.mjs";
import { open, received } from "./api.mjs";
import { element, showFailure } from "./dom.mjs";

export function fetchWithKey(links, problem) {
  for (const link of links) {
    link.addEventListener("click", async (event) => {
      if (!signedIn()) {
        return;
      }
      event.preventDefault();
      problem.replaceChildren();
      try {
        await save(link.href, link.type);
      } catch (error) {
        showFailure(problem, error);
      }
    });
  }
}

async function save(url, accept) {
  const { signal } = new AbortController();
  const response = await open(url, { accept, signal });
  const [, name] = /filename="([^"]+)"/u.exec(response.headers.get("content-disposition")) ?? [];
  // Whole, or not at all: a transfer that breaks off leaves no file.
  const file = URL.createObjectURL(await received(response.blob(), signal));
  element("a", { href: file, download: name ?? "members" }).click();
  URL.revokeObjectURL(file);
}
