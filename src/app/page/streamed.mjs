// The list as a stream of server-sent events, which can be stopped, and resumed behind the last row.
//
// Read by `fetch` and not by `EventSource`, which sends no header: a key would have to stand in the
// address.

import { Failure, address, open, read, received } from "./api.mjs";
import { count, enable, onPress } from "./dom.mjs";
import { Run } from "./run.mjs";
import { EventParser } from "./sse.mjs";

export class Streamed {
  #run;
  #stop;
  #resume;
  #filters = {};
  // Behind which row the stream goes on.
  #lastId = "";
  #controller = new AbortController();

  // `start` is called where a new stream is asked for.
  constructor(section, start) {
    this.#run = new Run(section);
    const button = (name) => section.querySelector(`[data-do=${name}]`);
    this.#stop = button("stop");
    this.#resume = button("resume");
    onPress(button("start"), start);
    onPress(this.#stop, () => this.#controller.abort());
    onPress(this.#resume, () => this.#go(this.#renew()));
    this.#offer(undefined);
  }

  // Leaves a stream of other filters.
  adopt(filters) {
    if (JSON.stringify(filters) !== JSON.stringify(this.#filters)) {
      this.#renew();
      this.#filters = filters;
      this.#lastId = "";
      this.#run.clear();
      this.#offer(undefined);
    }
  }

  start(filters) {
    const signal = this.#renew();
    this.#filters = filters;
    this.#lastId = "";
    this.#run.clear();
    this.#estimate(signal);
    this.#go(signal);
  }

  // Ends what runs, and answers the signal of what runs next.
  #renew() {
    this.#controller.abort();
    this.#controller = new AbortController();
    return this.#controller.signal;
  }

  async #estimate(signal) {
    try {
      const url = address("members", { ...this.#filters, limit: 1, count: "estimated" });
      const { document: list } = await read(url, signal);
      this.#run.meter.expect(list.page);
    } catch {
      // How far the stream is stays unsaid. Why, it will say itself.
    }
  }

  async #go(signal) {
    const run = this.#run;
    this.#offer(this.#stop);
    run.say("Streaming.");
    run.meter.start();
    try {
      await this.#transfer(signal);
      // How many rows there would be is of no use any more.
      this.#controller.abort();
      run.meter.finish();
      run.say(`The list is complete: ${count(run.meter.rows)} rows.`);
      this.#offer(undefined);
    } catch (error) {
      if (signal !== this.#controller.signal) {
        // Another stream has taken its place.
        return;
      }
      run.meter.stop();
      if (signal.aborted) {
        run.say(`Stopped after ${count(run.meter.rows)} rows.`);
      } else {
        run.fail(error);
        this.#controller.abort();
      }
      this.#offer(this.#resume);
    }
  }

  async #transfer(signal) {
    const headers = this.#lastId === "" ? {} : { "last-event-id": this.#lastId };
    const url = address("members", this.#filters);
    const response = await open(url, { accept: "text/event-stream", headers, signal });
    if (response.status === 204) {
      // It was stopped between its last row and its end.
      return;
    }
    const parser = new EventParser();
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    let complete = false;
    for (;;) {
      const { done, value } = await received(reader.read(), signal);
      if (done && complete) {
        return;
      }
      if (done) {
        throw new Failure("The stream broke off", "It ended without saying that it is complete.");
      }
      this.#run.meter.add(0, value.byteLength);
      for (const event of parser.push(decoder.decode(value, { stream: true }))) {
        complete ||= event.type === "end";
        this.#take(event);
      }
    }
  }

  #take({ type, data, id }) {
    if (type === "error") {
      throw Failure.of(JSON.parse(data));
    }
    if (type === "member") {
      this.#run.rows.add([JSON.parse(data)]);
      this.#run.meter.add(1, 0);
    }
    // Together with the row: so none is missed or shown twice.
    this.#lastId = id;
  }

  // Of Stop and Resume, lets the one be pressed that has a use now.
  #offer(useful) {
    for (const button of [this.#stop, this.#resume]) {
      enable(button, button === useful);
    }
  }
}
