// Keyboard shortcuts of every page. Pages add their own; `?` lists all of them.
import { make } from "./burnish.js";

const groups = new Map();
const NAMES = { ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→" };
// the first key of a sequence, such as g of `g i`
let prefix = "";
let timer = null;

/**
 * Adds shortcuts. An entry has `keys` (each a key, or two with a space), `words`, `run`, and `when`, which says
 * whether the shortcut applies to this event.
 */
export function addKeys(title, entries) {
  groups.set(title, [...(groups.get(title) ?? []), ...entries]);
}

export const shortcuts = () => [...groups.entries()];

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest?.("input, textarea, select, [contenteditable], dialog[open]");
  // a dialog that was just closed may keep the focus for a moment
  const closed = event.target.closest?.("dialog:not([open])");
  if ((typing && !closed) || document.querySelector("dialog[open]")) return;
  const sequence = prefix ? `${prefix} ${event.key}` : event.key;
  const all = [...groups.values()].flat();
  const entry = all.find((one) => one.keys.includes(sequence) && (!one.when || one.when(event)));
  setPrefix("");
  if (entry) {
    event.preventDefault();
    entry.run(event);
  } else if (all.some((one) => one.keys.some((key) => key.startsWith(`${event.key} `)))) setPrefix(event.key);
});

function setPrefix(key) {
  clearTimeout(timer);
  prefix = key;
  if (key) timer = setTimeout(() => (prefix = ""), 1200);
}

/** Shows all shortcuts of this page. */
export function showKeys() {
  document.getElementById("keys")?.remove();
  const box = make("dialog", { id: "keys" });
  box.setAttribute("aria-labelledby", "keys-title");
  box.append(make("h2", { id: "keys-title", textContent: "Keyboard shortcuts" }));
  for (const [title, entries] of groups) {
    const list = make("dl", { className: "keys" });
    for (const one of entries) {
      const names = make("dt");
      one.keys.forEach((key, at) => {
        if (at) names.append(" or ");
        key.split(" ").forEach((part) => names.append(make("kbd", { textContent: NAMES[part] ?? part }), " "));
      });
      list.append(names, make("dd", { textContent: one.words }));
    }
    box.append(make("h3", { textContent: title }), list);
  }
  const form = make("form", { method: "dialog", className: "row" });
  form.append(make("button", { className: "right", textContent: "Close", autofocus: true }));
  box.append(form);
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
}

document.addEventListener("click", (event) => event.target.closest("#keys-button") && showKeys());
