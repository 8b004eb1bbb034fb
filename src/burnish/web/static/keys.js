// Keyboard shortcuts of every page. Pages add their own; `?` lists all of them.
import { make, toast } from "./burnish.js";

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
// a careful key that waits, and the shortcut that follows it at once: both run, unless another letter makes them a word
let pending = [];
let pendingTimer = null;
const CAREFUL_MS = 150;
// three shortcuts at this speed are the beginning of a word
const WORD_LETTERS = 3;
// letters that follow each other: where the page was before the first of them, and how many of them came at once
let burst = { last: "", at: -Infinity, letters: 0 };

/**
 * Adds shortcuts. An entry has `keys` (each a key, or two with a space), `words`, `run`, and `when`, which says
 * whether the shortcut applies to this event. A `careful` one changes what is stored, so a word that is typed without
 * a field must not trigger it: it waits for the letters that follow. `needs` is the least role of a person who has the
 * shortcut, and `isListed` says whether the list of shortcuts has it now.
 */
export function addKeys(title, entries) {
  const own = entries.filter((one) => !one.needs || ROLES.indexOf(one.needs) <= ROLES.indexOf(document.body.dataset.role));
  groups.set(title, [...(groups.get(title) ?? []), ...own]);
}

export const shortcuts = () => [...groups.entries()];

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const isLetter = /^\p{L}$/u.test(event.key);
  const gap = sinceLast(event);
  if (!isLetter || gap >= CAREFUL_MS || (event.key === burst.last && burst.letters === 1)) runPending();
  if (gap >= TYPING_MS) typedAt = -Infinity;
  // Escape, Enter and arrows are in no word
  if (event.key.length > 1) burst.letters = 0;
  if (event.key === "Escape") typedAt = -Infinity;
  if (pressesInWord(event)) return event.preventDefault();
  if (isTyping(event) || document.querySelector("dialog[open]")) return;
  if (isLetter) noteBurst(event, gap);
  const sequence = prefix ? `${prefix} ${event.key}` : event.key;
  const all = [...groups.values()].flat();
  const entry = all.find((one) => one.keys.includes(sequence) && (!one.when || one.when(event)));
  const begins = all.some((one) => one.keys.some((key) => key.startsWith(`${event.key} `)));
  // a shortcut that does not apply now shows a message, and does not begin a word
  const idle = all.find((one) => one.keys.includes(event.key));
  if (isLetter && isWord(entry, Boolean(entry || begins || idle))) {
    dropPending(event.key);
    typedAt = performance.now();
  }
  // a sign at the end of a word that was typed outside of a field is not a shortcut either
  const isInWord = event.key.length === 1 && performance.now() - typedAt < TYPING_MS;
  setPrefix("");
  if (entry && !isInWord) {
    event.preventDefault();
    if (entry.careful || pending.length) wait(event, () => entry.run(event));
    else entry.run(event);
  } else if (begins && !isInWord) {
    setPrefix(event.key);
    if (pending.length) wait(event, () => {});
  } else if (isLetter) {
    if (!isInWord && idle) tellStray(event.key, idle);
    else if (!isInWord) strayLetter(event.key);
    if (!idle || isInWord) typedAt = performance.now();
  }
});

/** Milliseconds since the letter before; keys that were pressed before the page was ready bring theirs. */
const sinceLast = (event) => (event.isTrusted ? event.timeStamp - burst.at : event.detail);

/** True in a field, where keys write. */
function isTyping({ key, target }) {
  const field = target.closest?.("input, textarea, select, [contenteditable], dialog[open]");
  // a dialog that was just closed may keep the focus for a moment
  if (!field || target.closest("dialog:not([open])")) return false;
  // a checkbox takes no letters: keys go on after one was ticked, and after the part of a change was chosen
  return field.type !== "checkbox" && !(field.matches("[data-span]") && /^\p{L}$/u.test(key));
}

function noteBurst({ key, repeat, timeStamp }, gap) {
  const isSame = repeat || key === burst.last;
  // a repeated key is not a word that somebody types
  if (gap >= TYPING_MS || isSame) Object.assign(burst, { scroll: scrollY, focus: document.activeElement });
  if (gap >= CAREFUL_MS) burst.letters = 1;
  else if (!isSame || burst.letters !== 1) burst.letters += 1;
  // a capital chooses the button that has the focus once more
  Object.assign(burst, { last: key, at: timeStamp, holder: key === key.toLowerCase() ? document.activeElement : null });
}

/** True if the letter belongs to a word that must store nothing. */
function isWord(entry, isShortcut) {
  if (burst.letters >= WORD_LETTERS) return Boolean(pending.length || entry?.careful);
  return pending.length > 0 && !isShortcut;
}

/** A letter did nothing: `idle` is the shortcut that does not apply now. The page may have a message of its own. */
function tellStray(key, idle = null) {
  if (!document.dispatchEvent(new CustomEvent("stray-letter", { detail: idle, cancelable: true }))) return;
  if (idle) toast("This key does nothing now.", { hint: `${key}: ${idle.words}.` });
  else toast(`This page has no shortcut ${key}.`, { hint: "Press ? for the shortcuts." });
}

/** A letter without a shortcut: it was a word, so the page goes back to where it was before it. */
function strayLetter(key) {
  if (burst.scroll !== scrollY || burst.focus !== document.activeElement) {
    if (burst.focus === document.body) document.activeElement.blur();
    else burst.focus.focus({ preventScroll: true });
    scrollTo({ top: burst.scroll, behavior: "instant" });
  }
  tellStray(key);
}

/** True for the space or Enter of words that are typed while a button has the focus: it was not moved there by them. */
function pressesInWord({ key, target }) {
  if (key !== " " && key !== "Enter") return false;
  const isButton = target.matches?.("button, summary, a[href]");
  return isButton && performance.now() - burst.at < TYPING_MS && burst.holder === target;
}

function wait({ key }, run) {
  clearTimeout(pendingTimer);
  pending.push({ key, run });
  pendingTimer = setTimeout(runPending, CAREFUL_MS);
}

function dropPending(key) {
  clearTimeout(pendingTimer);
  pending = [];
  strayLetter(key);
}

/** Runs the keys that wait; one that comes after the opening of a form is written into it. */
function runPending() {
  clearTimeout(pendingTimer);
  const waiting = pending;
  pending = [];
  for (const { key, run } of waiting) {
    const isForm = isTyping({ key, target: document.activeElement }) || document.querySelector("dialog[open]");
    if (isForm) document.execCommand("insertText", false, key);
    else run();
  }
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
