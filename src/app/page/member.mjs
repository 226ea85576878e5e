// One member, with all fields, and the mail.

import { address, read } from "./api.mjs";
import { count, enable, onPress, showFailure } from "./dom.mjs";
import { field, fields } from "./fields.mjs";
import { Mail } from "./mail.mjs";
import { Mailability } from "./mailability.mjs";

const NEWEST = 20;
const MORE = 100;
// What has a section of its own.
const TOLD = new Set(["mailability"]);

export class MemberView {
  #section;
  #title;
  #mailability;
  #list;
  #message;
  #more;
  #toggled;
  // The member whose fields and mail are shown.
  #id;
  // What is in the list, by id.
  #mail = new Map();
  // The one that the address names, if it is there.
  #named;
  // Where the mail that is shown ends; null where the list was not begun yet.
  #cursor = null;
  #controller = new AbortController();

  // `toggled` is called with the ids of the member and of the mail record, and whether that is open now.
  constructor(section, toggled) {
    this.#section = section;
    this.#title = section.querySelector("h1");
    this.#mailability = new Mailability(section.querySelector("#mailability"));
    this.#list = section.querySelector(".mail");
    this.#message = section.querySelector(".message");
    this.#more = section.querySelector("button");
    this.#toggled = toggled;
    onPress(this.#more, () => this.#showMore());
  }

  // Shows the member, with this mail record open if it is given, and answers the name.
  async show(id, mailRecordId) {
    if (this.#id !== id) {
      this.hide();
    }
    this.#section.hidden = false;
    this.#named = undefined;
    await this.#attempt(async (signal) => {
      if (this.#id !== id) {
        await this.#read(id, signal);
      }
      if (mailRecordId !== undefined) {
        await this.#open(mailRecordId, signal);
      }
    });
    return this.#title.textContent;
  }

  hide() {
    this.#controller.abort();
    for (const mail of this.#mail.values()) {
      mail.stop();
    }
    this.#mailability.clear();
    this.#section.hidden = true;
    this.#title.textContent = "Member";
    this.#id = undefined;
    this.#mail.clear();
    this.#named = undefined;
    this.#cursor = null;
    for (const filled of this.#section.querySelectorAll(".problem, .record, .mail, .message")) {
      filled.replaceChildren();
    }
    this.#offer(false);
  }

  focus() {
    (this.#named ?? this.#title).focus();
  }

  async #read(id, signal) {
    const path = `members/${encodeURIComponent(id)}/with-mail-records`;
    const { document: answer } = await read(address(path, { limit: NEWEST }), signal);
    this.#id = id;
    this.#title.textContent = answer.member.name;
    this.#section.querySelector(".record").replaceChildren(...fields(answer.member, TOLD));
    this.#mailability.show(answer.member);
    this.#section.querySelector(".summary").replaceChildren(...figures(answer.mail_summary));
    this.#add(answer.mail_records);
    this.#offer(answer.mail_records.length === NEWEST);
  }

  async #open(mailRecordId, signal) {
    if (!this.#mail.has(mailRecordId)) {
      const url = this.#mailAddress(`/${encodeURIComponent(mailRecordId)}`);
      const { document: record } = await read(url, signal);
      this.#add([record]);
    }
    this.#named = this.#mail.get(mailRecordId);
    this.#named.open();
    this.#named.focus();
  }

  // `with-mail-records` has no cursor: the first time, the list is begun again.
  async #showMore() {
    await this.#attempt(async (signal) => {
      const cursor = this.#cursor === null ? {} : { cursor: this.#cursor };
      const url = this.#mailAddress("", { limit: MORE, ...cursor });
      const { document: list } = await read(url, signal);
      this.#add(list.data);
      this.#cursor = list.page.next_cursor;
      this.#offer(this.#cursor !== null);
    });
  }

  #mailAddress(below, parameters) {
    return address(`members/${encodeURIComponent(this.#id)}/mail-records${below}`, parameters);
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

  // Each goes to its place by age, which ids tell: one that the address names may be there before those
  // around it.
  #add(records) {
    for (const record of records.filter(({ id }) => !this.#mail.has(id))) {
      const mail = new Mail(record, (open) => this.#toggled(this.#id, record.id, open));
      this.#mail.set(record.id, mail);
      let newer = this.#list.lastElementChild;
      while (newer !== null && newer.dataset.id < record.id) {
        newer = newer.previousElementSibling;
      }
      if (newer === null) {
        this.#list.prepend(mail.element);
      } else {
        newer.after(mail.element);
      }
    }
    const shown = this.#mail.size;
    this.#message.textContent =
      shown === 0 ? "No mail was written down." : `${shown} shown, newest first.`;
  }

  #offer(more) {
    if (!more && document.activeElement === this.#more) {
      this.#section.querySelector("#mail-title").focus();
    }
    this.#more.hidden = !more;
    enable(this.#more, more);
  }
}

// All mail of a member: of each status how many, and those dates that there are.
function figures({ total, by_status, last_delivered_at, last_failed_at }) {
  if (total === 0) {
    return [];
  }
  const parts = Object.entries(by_status)
    .filter(([, number]) => number > 0)
    .map(([status, number]) => `${count(number)} ${status}`);
  return [
    field("in all", `${count(total)}: ${parts.join(", ")}`),
    ...fields({ last_delivered_at, last_failed_at }),
  ];
}
