// Elements. Whatever others chose comes in as text, by `textContent`, and with what could turn or hide it as an escape.

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]/g;

/** The text with what steers as an escape; line ends and tabs stay. */
function printable(text) {
  return String(text).replace(HIDDEN, (c) => "\\u{" + c.codePointAt(0).toString(16) + "}");
}

/** Puts children into an element: elements, texts, nothing. */
function put(element, ...children) {
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(printable(child)));
  }
  return element;
}

/** Sets attributes; `on` holds listeners. */
function dress(element, properties) {
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else {
      element.setAttribute(name, value === true ? "" : name === "title" ? printable(value) : String(value));
    }
  }
  return element;
}

/** An element of HTML. */
function h(tag, properties, ...children) {
  return put(dress(document.createElement(tag), properties), ...children);
}

/** An element of SVG. */
function svg(tag, properties, ...children) {
  return put(dress(document.createElementNS("http://www.w3.org/2000/svg", tag), properties), ...children);
}

/** A link, if it leads to the web; else its words. */
function link(address, words) {
  if (!/^https:\/\//.test(address || "")) return h("span", {}, words);
  return h("a", { href: address, rel: "noreferrer noopener", target: "_blank" }, words);
}

/** Copies a text, and says so where it was asked. */
async function copy(text, button) {
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page from disk may have no right to the clipboard but this old way.
    const area = h("textarea", { class: "aside", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
  }
  const before = button.textContent;
  button.textContent = done ? "Copied" : "Not copied";
  say(done ? "Copied" : "Not copied");
  setTimeout(() => { button.textContent = before; }, 1500);
}

/** Tells a screen reader. */
function say(text) {
  const place = document.getElementById("said");
  if (place) place.textContent = printable(text);
}

/** A button. */
function button(words, act, properties) {
  return h("button", { type: "button", ...properties, on: { click: (event) => act(event.currentTarget) } }, words);
}

/** The first of many, and a button that brings the next ones. In a list the button has an entry of its own, as everything in one has. */
function some(all, limit, make, what, box = h("div")) {
  box.classList.add("some");
  let shown = 0;
  const asks = button("", () => next(true), { class: "more" });
  const more = ["OL", "UL"].includes(box.tagName) ? h("li", {}, asks) : asks;
  function next(asked) {
    const until = Math.min(all.length, shown + limit);
    // Those before go, so that there are never more than twice as many.
    if (asked) while (box.children.length > limit + 1) box.firstChild.remove();
    more.remove();
    for (; shown < until; shown += 1) put(box, make(all[shown], shown));
    if (shown < all.length) {
      asks.textContent = `${Math.min(limit, all.length - shown)} more of ${all.length} ${what}`;
      box.append(more);
    }
  }
  next(false);
  return box;
}
