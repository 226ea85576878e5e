// One mail record: its line in the list, and behind that what became of it. Opening it reads it anew, so
// that its status and its events agree.

import { address, read } from "./api.mjs";
import { count, element, enable, onPress, showFailure } from "./dom.mjs";
import { field, fields, time } from "./fields.mjs";
import { placeOf } from "./place.mjs";
import { happened } from "./timeline.mjs";

const EVENTS = 100;
// What is said in words above the timeline.
const TOLD = new Set([
  "status",
  "status_at",
  "status_reason",
  "status_event_id",
  "opened_count",
  "first_opened_at",
  "clicked_count",
  "first_clicked_at",
  "retry_of",
  "retried_by",
]);

export class Mail {
  #record;
  #details;
  #summary = element("summary");
  #outcome = element("dl", { class: "record" });
  #title = element("h3", { tabindex: "-1" }, "Timeline");
  #message = element("p", { class: "message", role: "status" });
  #events = element("ol", { class: "timeline" });
  #problem = element("div", { class: "problem", role: "alert" });
  #more = element("button", { type: "button" });
  #fields = element("dl", { class: "record" });
  // Where the events that are shown end; null where there are no others.
  #cursor = null;
  #controller = new AbortController();

  // `toggled` is called with whether it is open now.
  constructor(record, toggled) {
    this.#tell(record);
    this.#offer("");
    this.#details = element(
      "details",
      {},
      this.#summary,
      this.#outcome,
      this.#title,
      this.#message,
      this.#events,
      this.#problem,
      this.#more,
      element("h3", {}, "Mail record"),
      this.#fields,
    );
    this.element = element("li", { "data-id": record.id }, this.#details);
    this.#details.addEventListener("toggle", () => {
      const { open } = this.#details;
      toggled(open);
      if (open) {
        this.#read();
      } else {
        this.stop();
      }
    });
    onPress(this.#more, () => (this.#cursor === null ? this.#read() : this.#readOn()));
  }

  open() {
    this.#details.open = true;
  }

  focus() {
    this.#summary.focus();
  }

  stop() {
    this.#controller.abort();
  }

  #read() {
    return this.#attempt(async (signal) => {
      this.#cursor = null;
      const [{ document: record }, { document: list }] = await Promise.all([
        read(this.#address(), signal),
        read(this.#address("/events", { sort: "occurred_at", limit: EVENTS }), signal),
      ]);
      if (record.version !== this.#record.version) {
        this.#tell(record);
      }
      this.#events.replaceChildren();
      this.#append(list);
    });
  }

  #readOn() {
    return this.#attempt(async (signal) => {
      const from = { sort: "occurred_at", limit: EVENTS, cursor: this.#cursor };
      const { document: list } = await read(this.#address("/events", from), signal);
      this.#append(list);
    });
  }

  #address(below = "", parameters = {}) {
    const { member_id, id } = this.#record;
    return address(`members/${member_id}/mail-records/${id}${below}`, parameters);
  }

  async #attempt(action) {
    this.stop();
    this.#controller = new AbortController();
    const { signal } = this.#controller;
    this.#problem.replaceChildren();
    try {
      await action(signal);
    } catch (error) {
      if (!signal.aborted) {
        showFailure(this.#problem, error);
        this.#offer("Try again");
      }
    }
  }

  #tell(record) {
    this.#record = record;
    this.#summary.replaceChildren(
      element("span", { class: "subject" }, record.subject || "(no subject)"),
      element("span", {}, record.status),
      time(record.created_at),
    );
    this.#outcome.replaceChildren(...outcome(record));
    this.#fields.replaceChildren(...fields(record, TOLD));
  }

  #append(list) {
    const deciding = this.#record.status_event_id;
    this.#events.append(...list.data.map((event) => happened(event, event.id === deciding)));
    const shown = this.#events.children.length;
    this.#message.textContent =
      shown === 0 ? "No event was reported." : `${count(shown)} shown, oldest first.`;
    this.#cursor = list.page.next_cursor;
    this.#offer(this.#cursor === null ? "" : "More events");
  }

  // Offers to read what is not shown yet, if anything.
  #offer(what) {
    if (what === "" && document.activeElement === this.#more) {
      this.#title.focus();
    }
    this.#more.textContent = what;
    this.#more.hidden = what === "";
    enable(this.#more, what !== "");
  }
}

function outcome(record) {
  const status = [element("strong", {}, record.status), ", ", time(record.status_at)];
  if (record.status_reason !== null) {
    status.push(element("p", { class: "said" }, record.status_reason));
  }
  const made = [
    field("status", ...status),
    field("opened", ...times(record.opened_count, record.first_opened_at)),
    field("links followed", ...times(record.clicked_count, record.first_clicked_at)),
  ];
  const attempts = [
    [record.retry_of, "The attempt before"],
    [record.retried_by, "The retry"],
  ];
  const links = attempts
    .filter(([id]) => id !== null)
    .map(([id, text]) => element("a", { href: placeOf(record.member_id, id) }, text));
  if (links.length > 0) {
    made.push(field("attempts", ...links));
  }
  return made;
}

function times(number, first) {
  if (number === 0) {
    return ["–"];
  }
  return [`${count(number)} ${number === 1 ? "time" : "times"}, first `, time(first)];
}
