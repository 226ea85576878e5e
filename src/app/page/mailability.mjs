// Whether a member may be mailed, and what stands against it.

import { address, read } from "./api.mjs";
import { element, showFailure } from "./dom.mjs";
import { field, time } from "./fields.mjs";

// One for each topic: more than anybody reads.
const CONSENTS = 100;
const REASONS = {
  no_address: "no address is known",
  suppressed: "the address is suppressed",
  consent_withdrawn: "consent was withdrawn",
  consent_pending: "consent was asked for, and not given yet",
};

export function mailabilityBadge(mailability) {
  const attributes = { class: "badge", "data-mailability": mailability };
  return element("span", attributes, mailability.replaceAll("_", " "));
}

export class Mailability {
  #section;
  #badge;
  #answers;
  #problem;
  #controller = new AbortController();

  constructor(section) {
    this.#section = section;
    this.#badge = section.querySelector("p");
    this.#answers = section.querySelector("dl");
    this.#problem = section.querySelector(".problem");
  }

  async show({ id, mailability }) {
    this.clear();
    this.#section.hidden = false;
    this.#badge.replaceChildren(mailabilityBadge(mailability));
    this.#controller = new AbortController();
    const { signal } = this.#controller;
    try {
      const ask = async (what, parameters) =>
        (await read(address(`members/${id}/${what}`, parameters), signal)).document;
      const [transactional, marketing, consents] = await Promise.all([
        ask("mail-eligibility", { category: "transactional" }),
        ask("mail-eligibility", { category: "marketing" }),
        ask("consents", { current: true, limit: CONSENTS }),
      ]);
      this.#answers.replaceChildren(
        field("transactional mail", ...told(transactional)),
        field("marketing mail", ...told(marketing)),
        field("consents", ...said(consents.data)),
      );
    } catch (error) {
      if (!signal.aborted) {
        showFailure(this.#problem, error);
      }
    }
  }

  clear() {
    this.#controller.abort();
    this.#section.hidden = true;
    for (const filled of [this.#badge, this.#answers, this.#problem]) {
      filled.replaceChildren();
    }
  }
}

function told({ allowed, reasons }) {
  if (allowed) {
    return ["may be sent"];
  }
  const list = reasons.map((reason) => element("li", {}, ...why(reason)));
  return [element("strong", {}, "must not be sent"), element("ul", {}, ...list)];
}

// A suppression also says why, and until when.
function why({ code, reason, expires_at }) {
  const words = [REASONS[code] ?? code];
  if (reason) {
    words.push(`: ${reason.replaceAll("_", " ")}`);
  }
  if (expires_at) {
    words.push(", until ", time(expires_at));
  }
  return words;
}

// What the member said that counts today: a topic may be refused, and marketing mail as a whole not.
function said(consents) {
  if (consents.length === 0) {
    return ["–"];
  }
  const list = consents.map(({ topic, state, occurred_at }) =>
    element("li", {}, `${topic ?? "all marketing mail"}: ${state}, `, time(occurred_at)),
  );
  return [element("ul", {}, ...list)];
}
