// A table of members that stays quick however many come: rows are added in batches, one for each frame
// that is painted, and only the latest are kept.

import { count, element } from "./dom.mjs";
import { mailabilityBadge } from "./mailability.mjs";
import { placeOf } from "./place.mjs";

const KEPT = 1000;
const BATCH = 100;

export class Rows {
  #region;
  #body;
  #note;
  #waiting = [];
  #added = 0;
  #frame;

  constructor(section, label) {
    this.#region = section.querySelector(".rows");
    this.#region.setAttribute("aria-label", label);
    this.#body = section.querySelector("tbody");
    this.#note = section.querySelector(".capped");
  }

  clear() {
    cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
    this.#waiting = [];
    this.#added = 0;
    this.#body.replaceChildren();
    this.#note.textContent = "";
    this.#region.hidden = true;
  }

  add(members) {
    this.#added += members.length;
    this.#waiting.push(...members);
    if (this.#waiting.length > KEPT) {
      // They fill the table by themselves: what is in it, and what waited longest, is not shown again.
      this.#waiting.splice(0, this.#waiting.length - KEPT);
      this.#body.replaceChildren();
    }
    this.#frame ??= requestAnimationFrame(() => this.#append());
  }

  #append() {
    this.#frame = undefined;
    const body = this.#body;
    body.append(...this.#waiting.splice(0, BATCH).map(row));
    while (body.rows.length > KEPT) {
      body.deleteRow(0);
    }
    this.#region.hidden = false;
    if (this.#added > KEPT) {
      this.#note.textContent = `The latest ${count(KEPT)} of ${count(this.#added)} rows are shown.`;
    }
    if (this.#waiting.length > 0) {
      this.#frame = requestAnimationFrame(() => this.#append());
    }
  }
}

function row({ id, name, email, mailability, status, joined }) {
  const link = element("a", { href: placeOf(id) }, name);
  const heading = element("th", { scope: "row" }, link);
  if (email !== null) {
    heading.append(element("span", { class: "email" }, email));
  }
  // Of most there is nothing to tell.
  if (mailability !== "ok") {
    heading.append(mailabilityBadge(mailability));
  }
  return element(
    "tr",
    {},
    heading,
    element("td", {}, status),
    element("td", { class: "date" }, joined),
  );
}
