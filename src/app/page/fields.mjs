// The fields of what the API answers, under their names.

import { element } from "./dom.mjs";

// Whatever fields there are but those that are `told` elsewhere, so that one that is new to the API is
// shown too.
export function fields(resource, told = new Set()) {
  return Object.entries(resource)
    .filter(([name]) => !told.has(name))
    .map(([name, value]) => field(name.replaceAll("_", " "), shown(name, value)));
}

export function field(name, ...content) {
  return element("div", {}, element("dt", {}, name), element("dd", {}, ...content));
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
export function time(value) {
  const text = value.replace("T", " ").replace(/(\.\d+)?Z$/u, " UTC");
  return element("time", { datetime: value, title: value }, text);
}
