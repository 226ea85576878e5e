// The list page by page: one JSON document for each, shown as a whole.

import { address, read } from "./api.mjs";
import { count, enable, onPress } from "./dom.mjs";
import { Run } from "./run.mjs";

// How far pages can be numbered; further on, the API wants a cursor.
const MAX_DEPTH = 10_000;

export class Paged {
  #run;
  #turns;
  #controller = new AbortController();

  // `turn` is called with 1 for the next page, and with -1 for the one before.
  constructor(section, turn) {
    this.#run = new Run(section);
    this.#turns = section.querySelectorAll("[data-turn]");
    for (const button of this.#turns) {
      onPress(button, () => turn(Number(button.dataset.turn)));
    }
  }

  async load(filters, page, size) {
    this.#controller.abort();
    this.#controller = new AbortController();
    const { signal } = this.#controller;
    const run = this.#run;
    run.meter.clear();
    run.say("");
    run.meter.start();
    try {
      const url = address("members", { ...filters, page, size, count: "estimated" });
      const { document: list, bytes } = await read(url, signal);
      run.meter.add(list.data.length, bytes);
      run.meter.finish();
      run.rows.clear();
      run.rows.add(list.data);
      const reachable = (page + 1) * size <= MAX_DEPTH;
      run.say(described(list, page, size, reachable));
      this.#offer(page > 1, list.page.next_cursor !== null && reachable);
    } catch (error) {
      if (signal.aborted) {
        // Another page is being loaded.
        return;
      }
      run.meter.stop();
      run.rows.clear();
      run.fail(error);
      this.#offer(page > 1, false);
    }
  }

  #offer(previous, next) {
    for (const button of this.#turns) {
      enable(button, button.dataset.turn === "1" ? next : previous);
    }
  }
}

function described({ data, page: { total, total_kind, next_cursor } }, page, size, reachable) {
  if (data.length === 0) {
    return page === 1 ? "No members match." : "There is no such page.";
  }
  const first = (page - 1) * size + 1;
  const about = total_kind === "exact" ? "" : "about ";
  const rows = `Rows ${count(first)} to ${count(first + data.length - 1)} of ${about}${count(total)}.`;
  return next_cursor === null || reachable
    ? rows
    : `${rows} Pages go no further: narrow the search, or stream the list.`;
}
