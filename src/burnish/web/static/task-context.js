// The task that the page shows, and the parts of the page: fetched from the server and put in place.
import { attempt, busy, fragment, gathered, tick } from "./burnish.js";

export const { project, task, since } = document.body.dataset;
export const here = `/p/${project}/t/${task}`;
export const path = `/projects/${project}/tasks/${task}`;
// parts on the page are kept up to date; the others are fetched when their tab is opened
const loaded = new Set([...document.querySelectorAll("[data-part]:not([data-empty])")].map((part) => part.dataset.part));
const keepers = [];
const skipped = new Set();
// which changes are shown, as a query
let diffView = "";

/** Fetches a part again soon, if it is on the page. */
export const refresh = gathered(async (names) => {
  // between a decision and the run that it starts, the task looks as if it had been interrupted
  if (document.querySelector("form[data-sending]")) return names.forEach((name) => skipped.add(name));
  const current = names.filter((name) => loaded.has(name));
  if (current.length) await attempt(() => fetchParts(current));
});

export const refreshAll = () => loaded.forEach((name) => refresh(name));

/** `keeper(old, fresh)` returns true if the old part can stay. */
export const keepPartIf = (keeper) => keepers.push(keeper);

export async function fetchParts(names) {
  const query = `names=${names.join(",")}${diffView}`;
  const askedAt = performance.now();
  const html = await fragment(`${here}/parts?${query}`);
  const parsed = document.createRange().createContextualFragment(html);
  for (const fresh of [...parsed.querySelectorAll("[data-part]")]) replacePart(Object.assign(fresh, { askedAt }));
  tick();
}

/** Fetches a part that is not on the page yet. */
export async function loadPart(name) {
  const part = document.getElementById(`part-${name}`);
  if (!part?.hasAttribute("data-empty") || loaded.has(name)) return;
  loaded.add(name);
  if (!(await attempt(() => fetchParts([name])))) loaded.delete(name);
}

function replacePart(fresh) {
  const old = document.getElementById(fresh.id);
  if (!old) return;
  if (busy(old)) {
    skipped.add(fresh.dataset.part);
    return markOutdated(old, fresh);
  }
  if (keepers.some((keeper) => keeper(old, fresh))) return;
  // files that stay are moved, which takes the focus from them
  const place = focusPlace(old);
  const seen = fileInView(old);
  keepState(old, fresh);
  if (old.isEqualNode(fresh) && !place) return;
  old.replaceWith(fresh);
  announcePart(fresh);
  if (seen) keepInView(fresh, seen);
  if (place) restoreFocus(fresh, place);
}

// what was not replaced because of a form in it, once the form is left
document.addEventListener("focusout", () => setTimeout(releaseParts));

/** Fetches the parts that were not replaced while a form was being filled in or sent. */
export function releaseParts() {
  const names = [...skipped];
  skipped.clear();
  names.forEach((name) => refresh(name));
}

// below the bars at the upper edge
const READING_EDGE = 130;

/** The file that is being read, where the page was scrolled to it, and its place in the window. */
function fileInView(part) {
  if (scrollY === 0) return null;
  const file = [...part.querySelectorAll(".file")].find((one) => one.getBoundingClientRect().bottom > READING_EDGE);
  return file ? { path: file.dataset.path, top: file.getBoundingClientRect().top } : null;
}

/** Files above it may be unfolded now, because they have changed since they were viewed. */
function keepInView(part, { path: name, top }) {
  const file = part.querySelector(`.file[data-path="${CSS.escape(name)}"]`);
  if (file) scrollBy({ top: file.getBoundingClientRect().top - top, behavior: "instant" });
}

/** Which element of the part has the focus: by its id, or as a line or the heading of a file. */
function focusPlace(part) {
  const active = document.activeElement;
  if (!part.contains(active)) return null;
  const finding = active.closest(".finding, .finding-item")?.id;
  return { id: active.id, finding, file: active.closest(".file")?.dataset.path, line: active.matches(".lines tr") ? lineKey(active) : "" };
}

const lineKey = (row) => [...row.querySelectorAll(".n")].map((cell) => cell.textContent.trim()).join("|");

function restoreFocus(part, { id, finding, file: path, line }) {
  const file = path && part.querySelector(`.file[data-path="${CSS.escape(path)}"]`);
  const row = line && file && [...file.querySelectorAll(".lines tr:not(.mirror)")].find((one) => lineKey(one) === line);
  if (row) row.tabIndex = -1;
  const heading = finding && part.querySelector(`#${CSS.escape(finding)} > summary`);
  const element = id ? document.getElementById(id) : row || heading || file?.querySelector("summary");
  element?.focus({ preventScroll: true });
}

/** Open details stay open; files that have not changed keep their elements. */
function keepState(old, fresh) {
  for (const file of fresh.querySelectorAll(".file")) {
    const same = old.querySelector(`.file[data-path="${CSS.escape(file.dataset.path)}"]`);
    if (same?.dataset.stamp === file.dataset.stamp) {
      for (const name of ["tree", "number"]) same.dataset[name] = file.dataset[name];
      same.id = file.id;
      file.replaceWith(same);
    } else if (same && !(isViewed(old, same) && !isViewed(fresh, file))) {
      // a file that was viewed is folded; if it has changed, it is to be seen again
      file.open = same.open;
    }
  }
  for (const details of fresh.querySelectorAll("details[id]:not(.file)")) {
    const same = old.querySelector(`#${CSS.escape(details.id)}`);
    if (!same) continue;
    if (details.dataset.fetch || details.dataset.output) details.replaceWith(same);
    else details.open = same.open;
  }
}

const isViewed = (part, file) => part.querySelector(`[data-viewed="${file.dataset.number}"]`)?.checked;

/** A form that is being filled in stays; if it is about another commit now, it shows a warning, unless it was just sent. */
function markOutdated(old, fresh) {
  const form = old.querySelector("[data-gate]");
  const current = fresh.querySelector("[data-gate]");
  if (!form || form.matches("[data-sending]") || current?.dataset.commit === form.dataset.commit) return;
  form.querySelector("[data-stale]").hidden = false;
  for (const button of form.querySelectorAll("[name=choice]")) button.disabled = true;
}

const announcePart = (part) => document.dispatchEvent(new CustomEvent("part", { detail: part }));

/** Sends a "part" event for each part that came with the page. */
export function announceParts() {
  for (const part of document.querySelectorAll("[data-part]:not([data-empty])")) announcePart(part);
}

document.addEventListener("diff-view", (event) => {
  diffView = event.detail;
  // a change that is not on the page yet is asked for with this view
  if (document.querySelector("#part-changes:not([data-empty])")) refresh("changes");
});
