// The figures of a run: time to the first row, time in all, rows and bytes, and how far it is.

import { count, duration, size } from "./dom.mjs";

export class Meter {
  #figures = {};
  #progress;
  #rows;
  #bytes;
  #first;
  // Rows that are expected.
  #total;
  // Milliseconds before the clock was last stopped, and since when it runs.
  #before;
  #since;
  #frame;

  constructor(section, label) {
    for (const figure of section.querySelectorAll("[data-figure]")) {
      this.#figures[figure.dataset.figure] = figure;
    }
    this.#progress = section.querySelector("progress");
    this.#progress.setAttribute("aria-label", label);
    this.clear();
  }

  get rows() {
    return this.#rows;
  }

  clear() {
    cancelAnimationFrame(this.#frame);
    this.#rows = 0;
    this.#bytes = 0;
    this.#before = 0;
    this.#first = undefined;
    this.#total = undefined;
    this.#since = undefined;
    for (const figure of Object.values(this.#figures)) {
      figure.textContent = "–";
    }
    this.#figures.total.textContent = "";
    this.#progress.value = 0;
  }

  // Starts the clock, or lets it go on.
  start() {
    this.#since = performance.now();
    this.#follow();
  }

  add(rows, bytes) {
    if (rows > 0) {
      this.#first ??= this.#elapsed();
    }
    this.#rows += rows;
    this.#bytes += bytes;
  }

  // Says how many rows there will be, as the `page` of a list does.
  expect({ total, total_kind }) {
    this.#total = total;
    this.#figures.total.textContent = `of ${total_kind === "exact" ? "" : "about "}${count(total)}`;
  }

  stop() {
    cancelAnimationFrame(this.#frame);
    this.#before = this.#elapsed();
    this.#since = undefined;
    this.#show();
  }

  // Stops the clock, with nothing more to come.
  finish() {
    this.#total = undefined;
    this.stop();
    this.#figures.total.textContent = "";
    this.#progress.value = 1;
  }

  #elapsed() {
    return this.#before + (this.#since === undefined ? 0 : performance.now() - this.#since);
  }

  #follow() {
    this.#show();
    this.#frame = requestAnimationFrame(() => this.#follow());
  }

  #show() {
    const figures = this.#figures;
    figures.first.textContent = this.#first === undefined ? "–" : duration(this.#first);
    figures.time.textContent = duration(this.#elapsed());
    figures.rows.textContent = count(this.#rows);
    figures.bytes.textContent = size(this.#bytes);
    if (this.#total > 0) {
      this.#progress.value = Math.min(this.#rows / this.#total, 1);
    } else if (this.#since === undefined) {
      this.#progress.value = 0;
    } else {
      // Without a value it says that something goes on, and not how far it is.
      this.#progress.removeAttribute("value");
    }
  }
}
