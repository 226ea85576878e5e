// Elements and texts. What the API says enters the page as text only, never as markup.

export function element(name, attributes = {}, ...content) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    made.setAttribute(attribute, value);
  }
  made.append(...content);
  return made;
}

// A button without a use now keeps its focus, which one that is `disabled` would drop.
export function enable(button, enabled) {
  button.setAttribute("aria-disabled", `${!enabled}`);
}

export function onPress(button, action) {
  button.addEventListener("click", () => {
    if (button.getAttribute("aria-disabled") !== "true") {
      action();
    }
  });
}

// Says in `place` why something failed.
export function showFailure(place, { message, detail, code, errors = [] }) {
  const places = errors.map((error) => {
    const named = error.parameter ?? error.pointer ?? error.header;
    return element("li", {}, `${named}: ${error.detail}`);
  });
  const parts = [element("strong", {}, message)];
  if (detail) {
    parts.push(element("p", {}, detail));
  }
  if (places.length > 0) {
    parts.push(element("ul", {}, ...places));
  }
  if (code) {
    parts.push(element("a", { href: `problems/${encodeURIComponent(code)}` }, "What this means"));
  }
  place.replaceChildren(...parts);
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

export function count(amount) {
  return whole.format(amount);
}

export function duration(milliseconds) {
  return milliseconds < 1000
    ? `${whole.format(milliseconds)} ms`
    : `${short.format(milliseconds / 1000)} s`;
}

export function size(bytes) {
  if (bytes < 1e3) {
    return `${bytes} B`;
  }
  return bytes < 1e6 ? `${short.format(bytes / 1e3)} kB` : `${short.format(bytes / 1e6)} MB`;
}
