// What both ways of reading the list show of themselves: figures, a message or a failure, and rows.

import { showFailure } from "./dom.mjs";
import { Meter } from "./meter.mjs";
import { Rows } from "./rows.mjs";

export class Run {
  #message;
  #problem;

  constructor(section) {
    section.append(document.getElementById("run").content.cloneNode(true));
    const label = section.querySelector("h2").textContent;
    this.meter = new Meter(section, `Progress: ${label}`);
    this.rows = new Rows(section, `Rows: ${label}`);
    this.#message = section.querySelector(".message");
    this.#problem = section.querySelector(".problem");
  }

  clear() {
    this.meter.clear();
    this.rows.clear();
    this.say("");
  }

  // Says where the run stands. It is read out: not for what changes with each row.
  say(message) {
    this.#problem.replaceChildren();
    this.#message.textContent = message;
  }

  fail(failure) {
    this.#message.textContent = "";
    showFailure(this.#problem, failure);
  }
}
