// Server-sent events out of a text that comes in pieces (HTML standard, "Interpreting an event
// stream").

export class EventParser {
  #line = "";
  #endedByCr = false;
  #type = "";
  #data = [];
  #id = "";

  // Takes the next piece, and answers the events that it completes.
  push(text) {
    if (text === "") {
      return [];
    }
    // CR ends a line at once; LF right behind it belongs to the same end, and may only come now.
    const rest = this.#endedByCr && text.startsWith("\n") ? text.slice(1) : text;
    this.#endedByCr = text.endsWith("\r");
    const lines = (this.#line + rest).split(/\r\n|\r|\n/);
    this.#line = lines.pop();
    return lines.map((line) => this.#take(line)).filter((event) => event !== undefined);
  }

  #take(line) {
    if (line === "") {
      return this.#complete();
    }
    const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/su.exec(line);
    if (field === "data") {
      this.#data.push(value);
    } else if (field === "event") {
      this.#type = value;
    } else if (field === "id" && !value.includes("\0")) {
      this.#id = value;
    }
    // A line without a field's name is a comment; `retry` is for those who reconnect by themselves.
    return undefined;
  }

  #complete() {
    const event = { type: this.#type || "message", data: this.#data.join("\n"), id: this.#id };
    const isEmpty = this.#data.length === 0;
    this.#type = "";
    this.#data = [];
    return isEmpty ? undefined : event;
  }
}
