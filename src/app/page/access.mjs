// The access key that requests carry. It stands here alone, for as long as the page is open: in no
// storage, no cookie and no address.

import { showFailure } from "./dom.mjs";

let key;
let whenRefused = () => {};

export function signedIn() {
  return key !== undefined;
}

// The field that a request needs, if any.
export function authorization() {
  return signedIn() ? { authorization: `Bearer ${key}` } : {};
}

// A key that opens nothing is not kept.
export function refused(failure) {
  const tried = signedIn();
  key = undefined;
  whenRefused(tried ? failure : undefined);
}

// Asks for a key where one is needed, and has the page shown `again` with it.
export class SignIn {
  #dialog;
  #problem;
  #field;
  #open;
  #leave;

  constructor(dialog, { open, leave, again }) {
    this.#dialog = dialog;
    this.#problem = dialog.querySelector(".problem");
    this.#field = dialog.querySelector("input");
    this.#open = open;
    this.#leave = leave;
    dialog.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      key = this.#field.value.trim();
      this.#field.value = "";
      dialog.close();
      this.#offer();
      again();
    });
    open.addEventListener("click", () => this.#ask());
    // The key, and what it showed, go with the page.
    leave.addEventListener("click", () => location.reload());
    whenRefused = (failure) => {
      this.#problem.replaceChildren();
      if (failure) {
        showFailure(this.#problem, failure);
      }
      this.#offer();
      this.#ask();
    };
  }

  #ask() {
    if (!this.#dialog.open) {
      this.#dialog.showModal();
    }
  }

  #offer() {
    this.#open.hidden = signedIn();
    this.#leave.hidden = !signedIn();
  }
}
