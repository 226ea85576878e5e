// One member, with all fields, and the mail.

import { address, read } from "./api.mjs";
import { element, enable, onPress, showFailure } from "./dom.mjs";

const NEWEST = 20;
const MORE = 100;

export class MemberView {
  #section;
  #title;
  #mail;
  #message;
  #more;
  #id;
  // Where the mail that is shown ends; null where the list was not begun yet.
  #cursor = null;
  #controller = new AbortController();

  constructor(section) {
    this.#section = section;
    this.#title = section.querySelector("h1");
    this.#mail = section.querySelector(".mail");
    this.#message = section.querySelector(".message");
    this.#more = section.querySelector("button");
    onPress(this.#more, () => this.#showMore());
  }

  // Shows the member, and answers the name.
  async show(id) {
    this.hide();
    this.#id = id;
    this.#section.hidden = false;
    await this.#attempt(async (signal) => {
      const path = `members/${encodeURIComponent(id)}/with-mail-records`;
      const { document: answer } = await read(address(path, { limit: NEWEST }), signal);
      this.#title.textContent = answer.member.name;
      this.#section.querySelector(".record").replaceChildren(...fields(answer.member));
      this.#append(answer.mail_records);
      this.#offer(answer.mail_records.length === NEWEST);
    });
    return this.#title.textContent;
  }

  hide() {
    this.#controller.abort();
    this.#section.hidden = true;
    this.#title.textContent = "Member";
    this.#cursor = null;
    for (const filled of this.#section.querySelectorAll(".problem, .record, .mail, .message")) {
      filled.replaceChildren();
    }
    this.#offer(false);
  }

  focus() {
    this.#title.focus();
  }

  // `with-mail-records` has no cursor: the first time, the list is begun again.
  async #showMore() {
    await this.#attempt(async (signal) => {
      const cursor = this.#cursor === null ? {} : { cursor: this.#cursor };
      const path = `members/${encodeURIComponent(this.#id)}/mail-records`;
      const { document: list } = await read(address(path, { limit: MORE, ...cursor }), signal);
      if (this.#cursor === null) {
        this.#mail.replaceChildren();
      }
      this.#append(list.data);
      this.#cursor = list.page.next_cursor;
      this.#offer(this.#cursor !== null);
    });
  }

  async #attempt(action) {
    this.#controller.abort();
    this.#controller = new AbortController();
    const { signal } = this.#controller;
    const problem = this.#section.querySelector(".problem");
    problem.replaceChildren();
    try {
      await action(signal);
    } catch (error) {
      if (!signal.aborted) {
        showFailure(problem, error);
      }
    }
  }

  #append(mailRecords) {
    this.#mail.append(...mailRecords.map(mail));
    const shown = this.#mail.children.length;
    this.#message.textContent =
      shown === 0 ? "No mail was written down." : `${shown} shown, newest first.`;
  }

  #offer(more) {
    if (!more && document.activeElement === this.#more) {
      this.#section.querySelector("h2").focus();
    }
    this.#more.hidden = !more;
    enable(this.#more, more);
  }
}

function mail(record) {
  const summary = element(
    "summary",
    {},
    element("span", { class: "subject" }, record.subject || "(no subject)"),
    element("span", {}, record.status),
    time(record.created_at),
  );
  const details = element("dl", { class: "record" }, ...fields(record));
  return element("li", {}, element("details", {}, summary, details));
}

// Whatever fields there are, so that one that is new to the API is shown too.
function fields(resource) {
  return Object.entries(resource).map(([name, value]) =>
    element(
      "div",
      {},
      element("dt", {}, name.replaceAll("_", " ")),
      element("dd", {}, shown(name, value)),
    ),
  );
}

function shown(name, value) {
  if (value === null || value === "") {
    return "–";
  }
  if (typeof value === "object" && Object.keys(value).length === 0) {
    return "–";
  }
  if (Array.isArray(value)) {
    return value.join(", ");
  }
  if (typeof value === "object") {
    return element("pre", {}, JSON.stringify(value, null, 2));
  }
  return name.endsWith("_at") ? time(value) : `${value}`;
}

// To the second, in UTC: what is read out on the telephone is the same everywhere.
function time(value) {
  const text = value.replace("T", " ").replace(/(\.\d+)?Z$/u, " UTC");
  return element("time", { datetime: value, title: value }, text);
}
