// The palette (Ctrl-K): pages, everything that the buttons of this page do, and tasks. Also the keys of every page.
import { api, attempt, logOut, make } from "./burnish.js";
import { addKeys, COMMON, showKeys } from "./keys.js";
import { nextPath } from "./notifications.js";
import { canUndo, undoLast } from "./undo.js";

const { project } = document.body.dataset;
const MAX_SHOWN = 50;
let tasks = [];
let timer = null;

const go = (path) => () => (location.href = typeof path === "function" ? path() : path);
const PAGES = [
  ["Inbox", "/inbox", "g i"],
  ["Next task that needs me", () => nextPath(), "g n"],
  ["Projects", "/projects", "g p"],
  ["Board of all projects", "/all", "g a"],
  ...(document.body.dataset.role === "maintainer" ? [["Add a project", "/projects#add", ""], ["People and audit", "/audit", ""]] : []),
  ...(project ? [
    ["Board", `/p/${project}`, "g b"],
    ["List of tasks", `/p/${project}/list`, "g l"],
    ["Statistics", `/p/${project}/stats`, "g s"],
    ["Prompts", `/p/${project}/prompts`, "g r"],
    ...(document.body.dataset.role === "maintainer" ? [["Settings, doctor and cleaning", `/p/${project}/settings`, "g e"]] : []),
  ] : []),
];

function nextLink() {
  const link = document.getElementById("next-entry");
  return link?.checkVisibility() ? link : null;
}

addKeys(COMMON, [
  { keys: ["?"], words: "show the keyboard shortcuts", run: showKeys },
  { keys: ["Ctrl-K"], words: "find a command, a page or a task", run: () => {} },
  { keys: ["z"], words: "undo, while a message offers it", when: canUndo, run: undoLast, careful: true },
  // the task that the page names as the next one, if it names one
  ...PAGES.filter(([, , keys]) => keys).map(([label, path, keys]) => ({
    keys: [keys], words: label, run: () => (keys === "g n" && nextLink() ? nextLink().click() : go(path)()),
  })),
]);

document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
  event.preventDefault();
  openPalette();
});
document.getElementById("palette-button")?.addEventListener("click", openPalette);
document.getElementById("log-out")?.addEventListener("click", () => attempt(async () => {
  await logOut();
  location.href = "/login";
}));

/** The words of a button, without its key and the explanation below them. */
function words(button) {
  const own = [...button.childNodes].filter((one) => !one.matches?.("small, .muted, .key"));
  return own.map((one) => one.textContent).join(" ").replace(/\s+/g, " ").trim();
}

/** All that can be done here: buttons that can be seen, then pages, then projects. */
function choices() {
  const focused = document.activeElement?.closest(".card, .entry");
  const found = [];
  const labels = new Set();
  // the main act of the page first, then the other decisions, and what is in menus last
  const rank = (button) => {
    if (button.matches(".primary, [name=choice]")) return button.matches(".primary") ? 0 : 1;
    return button.closest("details") ? 3 : 2;
  };
  const buttons = [...document.querySelectorAll("main button, main a.button")].sort((a, b) => rank(a) - rank(b));
  for (const button of buttons) {
    const card = button.closest(".card, .entry");
    if ((card && card !== focused) || button.disabled || button.matches(".fold, [role=tab], .more, .chip") || !shown(button)) continue;
    const label = button.dataset.what || button.getAttribute("aria-label") || words(button);
    if (!label || labels.has(label)) continue;
    labels.add(label);
    found.push({ label: label.replace("…", ""), kind: button.querySelector(".key")?.textContent ?? "action", run: () => button.click() });
  }
  for (const tab of document.querySelectorAll("[role=tab]")) {
    found.push({ label: `Show ${tab.textContent.trim()}`, kind: "tab", run: () => tab.click() });
  }
  document.dispatchEvent(new CustomEvent("palette", { detail: found }));
  for (const [label, path, keys] of PAGES) found.push({ label, kind: keys || "page", run: go(path) });
  for (const [key, name] of JSON.parse(document.body.dataset.projects)) {
    if (key !== project) found.push({ label: `Project ${name}`, kind: "project", run: go(`/p/${encodeURIComponent(key)}`) });
  }
  if (!labels.has("Keyboard shortcuts")) found.push({ label: "Keyboard shortcuts", kind: "?", run: showKeys });
  return found;
}

// a button in a closed menu can be used from here, too
const shown = (button) => button.checkVisibility() || Boolean(button.closest("details.menu"));

function openPalette() {
  if (document.querySelector("dialog[open]")) return;
  const all = choices();
  const box = make("dialog", { id: "palette", className: "palette" });
  box.setAttribute("aria-label", "Commands");
  const input = make("input", { type: "text", autocomplete: "off", spellcheck: false, placeholder: "Type a command or search for a task" });
  for (const [name, value] of [["role", "combobox"], ["aria-expanded", "true"], ["aria-controls", "palette-list"],
    ["aria-label", "Command or task"]]) input.setAttribute(name, value);
  const list = make("div", { id: "palette-list" });
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Commands");
  const none = make("p", { className: "muted", textContent: "Nothing matches.", hidden: true });
  none.setAttribute("role", "status");
  box.append(input, list, none);
  tasks = [];
  // nothing is selected before something is typed: Enter alone must not decide
  let at = -1;
  let items = [];
  const draw = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (one) => words.every((word) => one.label.toLowerCase().includes(word));
    items = [...all.filter(fits), ...tasks].slice(0, MAX_SHOWN);
    at = Math.min(input.value.trim() ? Math.max(at, 0) : at, items.length - 1);
    list.replaceChildren(...items.map(row));
    none.hidden = items.length > 0;
    mark();
  };
  const row = (one, index) => {
    const made = make("div", { id: `palette-${index}` });
    made.setAttribute("role", "option");
    made.append(make("span", { textContent: one.label }), make("span", { className: "muted", textContent: one.kind }));
    made.addEventListener("click", () => choose(one));
    return made;
  };
  const mark = () => {
    [...list.children].forEach((one, index) => one.setAttribute("aria-selected", String(index === at)));
    if (list.children[at]) input.setAttribute("aria-activedescendant", list.children[at].id);
    else input.removeAttribute("aria-activedescendant");
    list.children[at]?.scrollIntoView({ block: "nearest" });
  };
  const choose = (one) => {
    box.close();
    one.run();
  };
  input.addEventListener("input", () => {
    at = -1;
    draw();
    clearTimeout(timer);
    timer = setTimeout(() => search(input.value.trim(), draw), 150);
  });
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      at = (Math.max(at, step < 0 ? 0 : -1) + step + items.length) % Math.max(items.length, 1);
      mark();
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (items[at]) choose(items[at]);
    }
  });
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  draw();
  box.showModal();
  input.focus();
}

/** Finds tasks of all projects by number, title and text. */
async function search(text, draw) {
  if (!text) {
    tasks = [];
    return draw();
  }
  try {
    const found = await api("GET", `/tasks?limit=20&q=${encodeURIComponent(text)}`);
    const kind = (one) => (one.project === project ? "task" : one.project.replace(/-[0-9a-f]+$/, ""));
    tasks = found.tasks.map((one) => ({ label: `T${one.id} ${one.title}`, kind: kind(one), run: go(`/p/${one.project}/t/${one.id}`) }));
  } catch {
    tasks = [];
  }
  draw();
}
