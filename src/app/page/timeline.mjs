// One event in a mail record's timeline.

import { element } from "./dom.mjs";
import { fields, time } from "./fields.mjs";

// What stands above the fields, and what is the same for all events of the mail record.
const TOLD = new Set([
  "id",
  "member_id",
  "mail_record_id",
  "type",
  "occurred_at",
  "effect",
  "diagnostic",
]);

// `decides` says whether the status follows from this one.
export function happened(event, decides) {
  const known = Object.fromEntries(Object.entries(event).filter(([, value]) => value !== null));
  const item = element(
    "li",
    { "data-effect": event.effect },
    element(
      "p",
      { class: "what" },
      element("strong", {}, event.type),
      time(event.occurred_at),
      element("span", { class: "badge" }, decides ? "decides the status" : event.effect),
    ),
  );
  if (event.diagnostic !== null) {
    item.append(element("p", { class: "said" }, event.diagnostic));
  }
  item.append(element("dl", { class: "facts" }, ...fields(known, TOLD)));
  return item;
}
