// The page. What it shows stands in its address, so that a view can be linked and the back button
// leads to the one before: filters and page in the query, a member and an open mail record in the fragment.

import { SignIn } from "./access.mjs";
import { address } from "./api.mjs";
import { fetchWithKey } from "./exports.mjs";
import { MemberView } from "./member.mjs";
import { Paged } from "./paged.mjs";
import { namedBy, placeOf } from "./place.mjs";
import { Streamed } from "./streamed.mjs";

const FILTERS = ["q", "status", "mailability", "tag", "sort"];
const FIRST_PAGE = { page: "1", size: "50" };

const list = document.getElementById("list");
const listTitle = document.getElementById("list-title");
const filterForm = document.getElementById("filters");
const pageForm = document.getElementById("paging");
const member = new MemberView(document.getElementById("member"), toggled);
const paged = new Paged(document.getElementById("paged"), turn);
const streamed = new Streamed(document.getElementById("streamed"), stream);
new SignIn(document.getElementById("sign-in"), {
  open: document.getElementById("open-sign-in"),
  leave: document.getElementById("sign-out"),
  again: () => {
    shownQuery = undefined;
    show();
  },
});
fetchWithKey(document.querySelectorAll(".exports a"), document.getElementById("export-problem"));

// The query of the address whose list is shown.
let shownQuery;
// The link that led to a member, for the way back.
let opener;

filterForm.addEventListener("submit", (event) => {
  event.preventDefault();
  pageForm.elements.page.value = FIRST_PAGE.page;
  go();
});
pageForm.addEventListener("submit", (event) => {
  event.preventDefault();
  go();
});
list.addEventListener("click", (event) => {
  opener = event.target.closest("a[href^='#member/']") ?? opener;
});
window.addEventListener("popstate", async () => {
  const wasList = !list.hidden;
  await show();
  if (list.hidden) {
    member.focus();
  } else if (!wasList) {
    (opener?.isConnected ? opener : listTitle).focus();
  }
});
show();

async function show() {
  const { memberId, mailRecordId } = namedBy(location.hash);
  list.hidden = memberId !== undefined;
  if (list.hidden) {
    document.title = `${await member.show(memberId, mailRecordId)} · member-mail`;
    return;
  }
  member.hide();
  document.title = "Members · member-mail";
  if (location.search !== shownQuery) {
    readAddress();
    load();
  }
}

// The address names the mail record that was opened last, while it is open.
function toggled(memberId, mailRecordId, open) {
  const place = placeOf(memberId, mailRecordId);
  if (open) {
    history.replaceState(null, "", place);
  } else if (location.hash === place) {
    history.replaceState(null, "", placeOf(memberId));
  }
}

// Shows what the forms say.
function go() {
  if (!pageForm.reportValidity()) {
    return;
  }
  const query = writtenQuery();
  if (query !== location.search) {
    history.pushState(null, "", location.pathname + query);
  }
  load();
}

function load() {
  shownQuery = location.search;
  const { page, size } = pageForm.elements;
  paged.load(filters(), page.valueAsNumber, size.valueAsNumber);
  streamed.adopt(filters());
  for (const format of ["csv", "ndjson"]) {
    document.getElementById(format).href = address("members", { ...filters(), format });
  }
}

function turn(by) {
  pageForm.elements.page.valueAsNumber += by;
  pageForm.requestSubmit();
}

function stream() {
  if (writtenQuery() !== location.search) {
    filterForm.requestSubmit();
  }
  streamed.start(filters());
}

// The filters that are set.
function filters() {
  const values = FILTERS.map((name) => [name, filterForm.elements[name].value.trim()]);
  return Object.fromEntries(values.filter(([, value]) => value !== ""));
}

function writtenQuery() {
  const query = new URLSearchParams(filters());
  for (const [name, usual] of Object.entries(FIRST_PAGE)) {
    const { value } = pageForm.elements[name];
    if (value !== usual) {
      query.set(name, value);
    }
  }
  return query.size === 0 ? "" : `?${query}`;
}

function readAddress() {
  const query = new URLSearchParams(location.search);
  for (const name of FILTERS) {
    const field = filterForm.elements[name];
    field.value = query.get(name) ?? "";
    if (field.value !== (query.get(name) ?? "")) {
      // None of the choices.
      field.value = "";
    }
  }
  for (const [name, usual] of Object.entries(FIRST_PAGE)) {
    pageForm.elements[name].value = query.get(name) ?? usual;
  }
}
