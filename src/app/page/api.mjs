// Requests to the service that the page came from. Addresses are relative to the page, so that they
// hold behind a proxy that strips a prefix.

import { authorization, refused } from "./access.mjs";

// Why there is nothing to show, in words for the reader.
export class Failure extends Error {
  constructor(title, detail, problem = {}) {
    super(title);
    this.detail = detail;
    this.code = problem.code;
    this.errors = problem.errors ?? [];
  }

  // Of a problem document (RFC 9457).
  static of(problem) {
    return new Failure(problem.title, problem.detail, problem);
  }
}

export function address(path, parameters = {}) {
  const url = new URL(`api/v1/${path}`, document.baseURI);
  url.search = new URLSearchParams(parameters);
  return url;
}

// Answers a response of the wanted media type, or one without content; anything else is a `Failure`.
export async function open(url, { accept, headers, signal }) {
  const fields = { accept, ...authorization(), ...headers };
  const response = await fetch(url, { headers: fields, signal }).catch(() => {
    signal.throwIfAborted();
    throw new Failure("The service cannot be reached", "Is it running? Then try again.");
  });
  const type = response.headers.get("content-type")?.split(";")[0];
  if (response.status === 204 || (response.ok && type === accept)) {
    return response;
  }
  if (type === "application/problem+json") {
    const failure = Failure.of(await received(response.json(), signal));
    if (response.status === 401) {
      refused(failure);
    }
    throw failure;
  }
  throw new Failure(
    "This is no answer of member-mail",
    `Something in between answered, with status ${response.status}.`,
  );
}

// Reads a JSON document, and says how many bytes it had.
export async function read(url, signal) {
  const response = await open(url, { accept: "application/json", signal });
  const bytes = await received(response.arrayBuffer(), signal);
  return { document: JSON.parse(new TextDecoder().decode(bytes)), bytes: bytes.byteLength };
}

// Waits for a part of an answer. That it does not come is a `Failure`, unless `signal` called it off.
export function received(part, signal) {
  return part.catch(() => {
    signal.throwIfAborted();
    throw new Failure("The transfer broke off", "The connection ended before the answer did.");
  });
}
