// Keyboard shortcuts of every page. Pages add their own; `?` lists all of them.
import { make } from "./burnish.js";

const groups = new Map();
const ROLES = ["viewer", "reviewer", "maintainer"];
// the group of the shortcuts that every page has
export const COMMON = "All pages";
const NAMES = { ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→" };
// the first key of a sequence, such as g of `g i`
let prefix = "";
let timer = null;
// when a letter without a shortcut was typed outside of a field: the word that it belongs to does nothing
let typedAt = -Infinity;
const TYPING_MS = 700;
// a careful key that waits: it runs unless another letter follows at once, which makes it part of a word
let pending = null;
const CAREFUL_MS = 150;
// letters that follow each other at once, and where the page was before the first of them
let burst = { last: "", at: -Infinity };

/**
 * Adds shortcuts. An entry has `keys` (each a key, or two with a space), `words`, `run`, and `when`, which says
 * whether the shortcut applies to this event. A `careful` one changes what is stored, so a word that is typed without
 * a field must not trigger it. A letter that follows it at once makes such a word, except an `isStep` (j, k): nobody
 * types `vj`. `needs` is the least role of a person who has the shortcut, and `isListed` says whether
 * the list of shortcuts has it now.
 */
export function addKeys(title, entries) {
  const own = entries.filter((one) => !one.needs || ROLES.indexOf(one.needs) <= ROLES.indexOf(document.body.dataset.role));
  groups.set(title, [...(groups.get(title) ?? []), ...own]);
}

export const shortcuts = () => [...groups.entries()];

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const field = event.target.closest?.("input, textarea, select, [contenteditable], dialog[open]");
  // a checkbox takes no letters: keys go on after one was ticked, and after the part of a change was chosen
  const typing = field && field.type !== "checkbox" && !(field.matches("[data-span]") && /^\p{L}$/u.test(event.key));
  // a dialog that was just closed may keep the focus for a moment
  const closed = event.target.closest?.("dialog:not([open])");
  if ((typing && !closed) || document.querySelector("dialog[open]")) return;
  const sequence = prefix ? `${prefix} ${event.key}` : event.key;
  const all = [...groups.values()].flat();
  const entry = all.find((one) => one.keys.includes(sequence) && (!one.when || one.when(event)));
  const isLetter = /^\p{L}$/u.test(event.key);
  if (isLetter) noteBurst(event);
  if (!settlePending(event.key, isLetter && !entry?.isStep)) typedAt = performance.now();
  // a sign at the end of a word that was typed outside of a field is no shortcut either
  const isTyping = event.key.length === 1 && performance.now() - typedAt < TYPING_MS;
  setPrefix("");
  if (entry && !isTyping) {
    event.preventDefault();
    if (entry.careful) pending = { key: event.key, run: () => entry.run(event), timer: setTimeout(settlePending, CAREFUL_MS) };
    else entry.run(event);
  } else if (!isTyping && all.some((one) => one.keys.some((key) => key.startsWith(`${event.key} `)))) setPrefix(event.key);
  else if (isLetter) {
    // a shortcut of the page that does not apply now says so, and does not begin a word
    const idle = all.find((one) => one.keys.includes(event.key));
    if (!isTyping) strayLetter(idle);
    if (!idle || isTyping) typedAt = performance.now();
  }
});

function noteBurst({ key, repeat }) {
  const now = performance.now();
  const isNew = now - burst.at > TYPING_MS;
  // a repeated key is not a word that somebody types
  if (isNew || repeat || key === burst.last) burst = { scroll: scrollY, focus: document.activeElement };
  Object.assign(burst, { last: key, at: now });
}

/** A letter without a shortcut: it was a word, so the page goes back to where it was before it. */
function strayLetter(idle = null) {
  if (burst.scroll !== scrollY || burst.focus !== document.activeElement) {
    if (burst.focus === document.body) document.activeElement.blur();
    else burst.focus.focus({ preventScroll: true });
    scrollTo({ top: burst.scroll, behavior: "instant" });
  }
  document.dispatchEvent(new CustomEvent("stray-letter", { detail: idle }));
}

/** Runs the careful key that waits, or drops it because another letter follows; returns whether it was not dropped. */
function settlePending(key = "", isLetter = false) {
  if (!pending) return true;
  const { key: earlier, run, timer: waiting } = pending;
  clearTimeout(waiting);
  pending = null;
  if (isLetter && key !== earlier) {
    strayLetter();
    return false;
  }
  run();
  return true;
}

function setPrefix(key) {
  clearTimeout(timer);
  prefix = key;
  if (key) timer = setTimeout(() => (prefix = ""), 2000);
}

/** Shows all shortcuts of this page. */
export function showKeys() {
  document.getElementById("keys")?.remove();
  const box = make("dialog", { id: "keys" });
  box.setAttribute("aria-labelledby", "keys-title");
  box.append(make("h2", { id: "keys-title", textContent: "Keyboard shortcuts" }));
  const parts = make("div", { className: "key-groups" });
  // what only this page has comes first
  for (const [title, entries] of [...groups].sort(([one], [other]) => (one === COMMON) - (other === COMMON))) {
    const list = make("dl", { className: "keys" });
    for (const one of entries.filter(({ isListed = () => true }) => isListed())) {
      const names = make("dt");
      // `1 … 6` for a row of digits
      const isRow = one.keys.length > 3;
      const shown = isRow ? [one.keys[0], one.keys.at(-1)] : one.keys;
      shown.forEach((key, at) => {
        if (at) names.append(isRow ? " … " : " or ");
        key.split(" ").forEach((part) => names.append(make("kbd", { textContent: NAMES[part] ?? part }), " "));
      });
      list.append(names, make("dd", { textContent: one.words }));
    }
    const part = make("section");
    part.append(make("h3", { textContent: title }), list);
    parts.append(part);
  }
  box.append(parts);
  const form = make("form", { method: "dialog", className: "row" });
  form.append(make("button", { className: "right", textContent: "Close", autofocus: true }));
  box.append(form);
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
  // the button that has the focus is at the end
  box.scrollTop = 0;
}

document.addEventListener("click", (event) => event.target.closest("#keys-button") && showKeys());
