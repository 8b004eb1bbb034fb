// Tasks as a table: filters and sorting are part of the URL; actions apply to all selected tasks that allow them.
import { Problem, api, fragment, gathered, keepFocusOnBack, listen, make, sure, toast } from "./burnish.js";
import { addKeys } from "./keys.js";
import { opposite } from "./undo.js";
import "./saved-filters.js";

const search = document.getElementById("search");
const filters = [...document.querySelectorAll("[data-filter]")];
const acts = JSON.parse(document.getElementById("bulk").dataset.acts);
const several = Object.keys(JSON.parse(document.body.dataset.since)).length > 1;
const chosen = new Set();
let sorting = { by: "updated", down: true };
let inText = new Set();
let last = null;

const rows = () => [...document.querySelectorAll(".tasks tbody tr")];
const visible = () => rows().filter((row) => !row.hidden);
const selected = () => visible().filter((row) => chosen.has(row.id));

// filters

function fits(row, words) {
  for (const { dataset, value } of filters) {
    if (value && !row.dataset[dataset.filter === "tag" ? "tags" : dataset.filter].split(" ").includes(value)) return false;
  }
  if (!words.length || inText.has(row.id)) return true;
  const text = `${row.dataset.id} t${row.dataset.id} ${row.querySelector(".title").textContent} ${row.dataset.name}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

function filter() {
  const words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const all = rows();
  for (const row of all) row.hidden = !fits(row, words);
  const count = visible().length;
  document.getElementById("shown").textContent = count === all.length ? `${count} tasks` : `${count} of ${all.length} tasks`;
  drawBulk();
}

/** Finds words in texts that the table does not show. */
const searchTexts = gathered(async () => {
  const text = search.value.trim();
  inText = new Set();
  if (text.length > 1) {
    const projects = Object.keys(JSON.parse(document.body.dataset.since));
    for (const project of projects) {
      const answer = await fetch(`/p/${encodeURIComponent(project)}/found?q=${encodeURIComponent(text)}`);
      if (answer.ok) for (const id of (await answer.json()).ids) inText.add(`row-${project}-${id}`);
    }
  }
  filter();
}, { first: 200 });

function changeFilter() {
  const here = new URL(location.href);
  const put = (key, value) => (value ? here.searchParams.set(key, value) : here.searchParams.delete(key));
  put("q", search.value.trim());
  for (const one of filters) put(one.dataset.filter, one.value);
  put("sort", sorting.by === "updated" && sorting.down ? "" : `${sorting.down ? "-" : ""}${sorting.by}`);
  history.replaceState(null, "", here);
  filter();
}

// sorting

const VALUES = {
  id: (row) => Number(row.dataset.id),
  updated: (row) => row.dataset.updated,
  project: (row) => row.dataset.name.toLowerCase(),
  title: (row) => row.querySelector(".title a").textContent.toLowerCase(),
  status: (row) => row.querySelector(".badge:not(.title .badge)").textContent,
  agent: (row) => row.dataset.agent,
  cost: (row) => Number(row.querySelector(".number").textContent.replace(/[^\d.]/g, "")) || 0,
};

function sort() {
  const value = VALUES[sorting.by] ?? VALUES.updated;
  const sign = sorting.down ? -1 : 1;
  const all = rows().map((row) => [value(row), row]);
  all.sort(([one], [other]) => (one < other ? -sign : one > other ? sign : 0));
  document.querySelector(".tasks tbody")?.append(...all.map(([, row]) => row));
  for (const button of document.querySelectorAll("[data-sort]")) {
    const own = button.dataset.sort === sorting.by;
    button.closest("th").setAttribute("aria-sort", own ? (sorting.down ? "descending" : "ascending") : "none");
  }
}

// selection

function select(row, on) {
  on ? chosen.add(row.id) : chosen.delete(row.id);
  row.querySelector(".select").checked = on;
}

function drawBulk() {
  const now = selected();
  document.getElementById("bulk").hidden = !now.length;
  document.getElementById("selected").textContent = now.length === 1 ? "1 task selected" : `${now.length} tasks selected`;
  const all = document.getElementById("select-all");
  if (all) all.checked = now.length > 0 && now.length === visible().length;
  const buttons = acts.map((act) => {
    const { name } = act;
    const able = now.filter((row) => row.dataset.acts.split(" ").includes(name));
    if (!able.length) return null;
    const label = able.length === now.length ? act.label : `${act.label} (${able.length})`;
    const button = make("button", { type: "button", textContent: label, className: name === "remove" ? "danger" : "" });
    button.addEventListener("click", () => perform(act, able));
    return button;
  });
  document.getElementById("bulk-acts").replaceChildren(...buttons.filter(Boolean));
}

async function perform(act, able) {
  const { name } = act;
  const what = able.length === 1 ? nameOf(able[0]) : `${able.length} tasks`;
  const ways = able.map((row) => opposite(name, row.dataset.status));
  const undoable = ways.every(Boolean);
  if (act.ask && !undoable) {
    const list = `${act.words} ${able.map(nameOf).slice(0, 20).join(", ")}`.trim();
    if ((await sure(`${act.label} ${what}?`, list, { yes: act.label, danger: true })) === null) return;
  }
  const done = [];
  for (const [at, row] of able.entries()) {
    const path = `/projects/${row.dataset.project}/tasks/${row.dataset.id}`;
    try {
      await api(act.method, path + act.path, act.method === "DELETE" ? undefined : act.body);
      done.push([path, ways[at]]);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      toast(`${nameOf(row)}: ${error.message}`, { hint: error.hint, bad: true });
    }
  }
  for (const row of able) select(row, false);
  const undo = async () => {
    for (const [path, [, method, rest, fields]] of done) await api(method, path + rest, fields);
    renew("all");
  };
  const number = done.length === able.length ? what : `${done.length} of ${able.length} tasks`;
  if (done.length) toast(`${DONE[name] ?? act.label} ${number}.`, { undo: undoable ? undo : null });
  renew("all");
}

const DONE = {
  run: "Started", goon: "Continued", retry: "Retried", back: "Moved to the backlog:", stop: "Stopping", pause: "Paused",
  unpause: "Unpaused", cancel: "Cancelled", archive: "Archived", remove: "Removed",
};
const nameOf = (row) => `${several ? `${row.dataset.name} ` : ""}T${row.dataset.id}`;

// events

const renew = gathered(async () => {
  const old = document.getElementById("tasks");
  try {
    const page = make("template");
    page.innerHTML = await fragment(old.dataset.part);
    const focus = document.activeElement?.closest("tr")?.id;
    const inBox = document.activeElement?.matches(".select");
    old.replaceWith(page.content.firstElementChild);
    begin();
    const row = focus && document.getElementById(focus);
    if (row) (inBox ? row.querySelector(".select") : row).focus({ preventScroll: true });
  } catch {
    // the next event tries again
  }
}, { first: 200, storm: 2000, rest: 8 });

function begin() {
  sort();
  for (const row of rows()) row.querySelector(".select").checked = chosen.has(row.id);
  filter();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-sort]");
  if (button) {
    sorting = { by: button.dataset.sort, down: sorting.by === button.dataset.sort ? !sorting.down : false };
    sort();
    changeFilter();
  }
  const box = event.target.closest(".select");
  if (!box) return;
  const all = visible();
  const at = all.indexOf(box.closest("tr"));
  const from = event.shiftKey && last ? all.indexOf(last) : at;
  for (const row of all.slice(Math.min(at, from < 0 ? at : from), Math.max(at, from) + 1)) select(row, box.checked);
  last = box.closest("tr");
  drawBulk();
});
document.addEventListener("change", (event) => {
  if (event.target.id !== "select-all") return;
  for (const row of visible()) select(row, event.target.checked);
  drawBulk();
});
document.getElementById("select-none").addEventListener("click", () => {
  for (const row of rows()) select(row, false);
  drawBulk();
});
for (const one of filters) one.addEventListener("change", changeFilter);
search.addEventListener("input", () => {
  changeFilter();
  searchTexts("text");
});

const current = () => document.activeElement?.closest("tbody tr");

function walk(by, isSelecting = false) {
  const all = visible();
  const old = current();
  const at = all.indexOf(old);
  const next = all[at < 0 ? 0 : Math.min(Math.max(at + by, 0), all.length - 1)];
  if (isSelecting) {
    for (const row of [old, next]) if (row) select(row, true);
    drawBulk();
  }
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest" });
}

search.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    // what the browser does with Escape comes too late for the URL
    search.value = "";
    changeFilter();
    search.blur();
  }
  if (event.key !== "Enter" && event.key !== "ArrowDown") return;
  event.preventDefault();
  visible()[0]?.focus();
});

addKeys("List", [
  { keys: ["j", "ArrowDown"], words: "next task", run: () => walk(1) },
  { keys: ["k", "ArrowUp"], words: "task before", run: () => walk(-1) },
  { keys: ["J", "K"], words: "select several tasks", run: (event) => walk(event.key === "J" ? 1 : -1, true) },
  { keys: ["x"], words: "select the task, or the first one", run: () => {
    if (!current()) walk(1);
    const row = current();
    if (row) select(row, !chosen.has(row.id));
    drawBulk();
  } },
  { keys: ["m"], words: "go to the actions for the selected tasks", when: () => selected().length,
    run: () => document.querySelector("#bulk-acts button").focus() },
  { keys: ["Enter", "o"], words: "open the task", when: (event) => event.target.matches("tbody tr"),
    run: () => current().querySelector(".title a").click() },
  { keys: ["/"], words: "search", run: () => search.focus() },
]);

const query = new URL(location.href).searchParams;
search.value = query.get("q") ?? "";
for (const one of filters) one.value = query.get(one.dataset.filter) ?? "";
const asked = query.get("sort");
if (asked) sorting = { by: asked.replace("-", ""), down: asked.startsWith("-") };
begin();
if (search.value) searchTexts("text");
for (const [project, since] of Object.entries(JSON.parse(document.body.dataset.since))) {
  listen(project, since, () => renew("all"), () => renew("all"));
}
keepFocusOnBack("tbody tr");
