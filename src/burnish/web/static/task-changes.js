// The diff: files are fetched when they scroll into view, folded lines when they are unfolded.
import { api, attempt, fragment, make } from "./burnish.js";
import { preference, setPreference } from "./preferences.js";
import { here, path } from "./task-context.js";

let near;
// requests for files that have not been answered
let pending = 0;
// what of the change is shown, as a query; how it is shown is kept
let view = "";
let span = "";
let seenTree = "";
const options = () => JSON.parse(preference("diff") || "{}");
// a narrow window has no room for two sides, and does not show the option
const isSideBySide = () => Boolean(options().split) && !matchMedia("(max-width: 640px)").matches;

export function startChanges() {
  const fillVisible = (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => fill(entry.target));
  near = new IntersectionObserver(fillVisible, { rootMargin: "800px" });
  document.addEventListener("part", (event) => event.detail.dataset.part === "changes" && arrived(event.detail));
  document.addEventListener("toggle", (event) => event.target.matches?.(".file") && event.target.open && watch(), true);
  document.addEventListener("click", clicked);
  document.addEventListener("change", changed);
  setView();
  document.addEventListener("show-line", (event) => showLine(event.detail));
  document.addEventListener("toggle", readArtifact, true);
  document.addEventListener("focusin", markFile);
}

/** Marks the file that has the focus in the list of files. */
function markFile({ target }) {
  const file = target.closest?.(".file");
  if (!file) return;
  document.querySelector(".leaf[aria-current]")?.removeAttribute("aria-current");
  const leaf = document.querySelector(`.leaf[href="#${file.id}"]`);
  if (!leaf) return;
  leaf.setAttribute("aria-current", "true");
  // only the list is scrolled, not the page
  const list = leaf.closest(".tree");
  const [box, own] = [list.getBoundingClientRect(), leaf.getBoundingClientRect()];
  if (own.top < box.top || own.bottom > box.bottom) list.scrollTop += own.top - box.top - box.height / 2;
}

function arrived(part) {
  // on a narrow screen the list of files would hide the code
  const tree = part.querySelector(".tree-box");
  if (tree && matchMedia("(max-width: 1000px)").matches) tree.open = false;
  reserve(part);
  watch();
  const isSplit = isSideBySide();
  const box = part.querySelector("[data-split]");
  if (box) box.checked = isSplit;
  part.querySelectorAll(".lines").forEach((table) => showSplit(table, isSplit));
  const bar = part.querySelector("[data-tree]");
  // the tree that the user looks at, for "since I last looked"
  if (!bar?.dataset.whole || document.hidden || bar.dataset.tree === seenTree) return;
  seenTree = bar.dataset.tree;
  api("PUT", `${path}/seen`, { tree: seenTree }).catch(() => {});
}

function setView() {
  view = `${span ? `&span=${span}` : ""}${options().ignoreSpace ? "&space=false" : ""}`;
  document.dispatchEvent(new CustomEvent("diff-view", { detail: view }));
}

function changed(event) {
  const box = event.target;
  if (box.matches("[data-span]")) span = box.value;
  else if (box.matches("[data-ignore-space]")) keep({ ignoreSpace: box.checked });
  else if (box.matches("[data-split]")) {
    keep({ split: box.checked });
    document.querySelectorAll(".lines").forEach((table) => showSplit(table, box.checked));
    return;
  } else return;
  // a part with a focused choice is not renewed, so the choice has the focus again afterwards
  if (box === document.activeElement) keepFocus(box.id);
  box.blur();
  setView();
}

function keepFocus(id) {
  document.addEventListener("part", function renewed({ detail: part }) {
    if (part.dataset.part !== "changes") return;
    document.removeEventListener("part", renewed);
    if (document.activeElement === document.body) document.getElementById(id)?.focus({ preventScroll: true });
  });
}

function keep(values) {
  setPreference("diff", JSON.stringify({ ...options(), ...values }));
}

/**
 * Side by side: removed lines in the left column, added ones beside them in the right one, unchanged ones in both.
 * The rows stay the same elements, so comments and links work as before; only their order changes.
 */
function showSplit(table, isSplit) {
  table.classList.toggle("split", isSplit);
  for (const mirror of table.querySelectorAll("tr.mirror")) mirror.remove();
  for (const body of table.tBodies) {
    const rows = [...body.rows];
    for (const { removed, added } of runs(rows)) {
      const after = (isSplit ? pairs(removed, added) : [...removed, ...added]).flat();
      const place = document.createComment("");
      removed[0][0].before(place);
      place.replaceWith(...after);
    }
    if (!isSplit) continue;
    for (const row of body.querySelectorAll("tr.same")) {
      const mirror = row.cloneNode(true);
      mirror.className = "same mirror";
      mirror.removeAttribute("data-line");
      mirror.setAttribute("aria-hidden", "true");
      row.before(mirror);
    }
  }
}

/** Runs of removed and added lines; each line is a list: its row, then the rows of comments below it. */
function runs(rows) {
  const found = [];
  let run = null;
  let lines = null;
  for (const row of rows) {
    const kind = row.classList.contains("del") ? "removed" : row.classList.contains("add") ? "added" : "";
    if (kind) {
      if (!run) found.push((run = { removed: [], added: [] }));
      run[kind].push((lines = [row]));
    } else if (row.matches(".note") && run && lines) lines.push(row);
    else run = lines = null;
  }
  return found.filter((one) => one.removed.length && one.added.length);
}

function pairs(removed, added) {
  const longest = Math.max(removed.length, added.length);
  // comments come below both halves
  return Array.from({ length: longest }, (_, at) => {
    const [left, ...below] = removed[at] ?? [];
    const [right, ...more] = added[at] ?? [];
    return [left, right, ...below, ...more].filter(Boolean);
  });
}

/** Gives files that are fetched later about the height that they will have, so that places below them do not move. */
function reserve(part) {
  const rowHeight = part.querySelector(".lines tr[data-line]")?.offsetHeight || 19;
  for (const body of part.querySelectorAll(".file-body[data-wanted]")) {
    body.style.minHeight = `${Number(body.dataset.lines) * rowHeight}px`;
  }
}

/**
 * Scrolls to an element and stays there while files above it are still fetched and change their height,
 * until nothing moves any more or the user scrolls.
 */
export async function land(element, block = "start") {
  element.scrollIntoView({ block });
  const stop = new AbortController();
  for (const type of ["wheel", "touchstart", "keydown", "pointerdown"]) {
    addEventListener(type, () => stop.abort(), { signal: stop.signal, passive: true });
  }
  const end = performance.now() + 5000;
  let quiet = performance.now();
  let top = element.getBoundingClientRect().top;
  while (!stop.signal.aborted && performance.now() < end && (pending || performance.now() - quiet < 400)) {
    await new Promise((resolve) => requestAnimationFrame(resolve));
    const moved = Math.abs(element.getBoundingClientRect().top - top) > 1;
    if (!moved) continue;
    element.scrollIntoView({ block });
    top = element.getBoundingClientRect().top;
    quiet = performance.now();
  }
  stop.abort();
}

function watch() {
  near.disconnect();
  for (const body of document.querySelectorAll(".file[open] .file-body[data-wanted]")) near.observe(body);
}

const query = (file) => `tree=${file.dataset.tree}${view}`;

async function fill(body) {
  if (!body.hasAttribute("data-wanted")) return;
  body.removeAttribute("data-wanted");
  near.unobserve(body);
  const file = body.closest(".file");
  pending += 1;
  const succeeded = await attempt(async () => {
    const html = await fragment(`${here}/file/${file.dataset.number}?${query(file)}`);
    body.replaceWith(document.createRange().createContextualFragment(html));
    if (isSideBySide()) file.querySelectorAll(".lines").forEach((table) => showSplit(table, true));
  });
  pending -= 1;
  if (!succeeded) body.setAttribute("data-wanted", "");
}

async function clicked(event) {
  const fold = event.target.closest(".lines .fold button");
  const all = event.target.closest("[data-fold]");
  if (fold) await unfold(fold);
  if (all) for (const file of document.querySelectorAll(".file")) file.open = all.dataset.fold === "none";
}

async function unfold(button) {
  const file = button.closest(".file");
  const { old, new: fresh, count } = button.dataset;
  await attempt(async () => {
    const range = `old=${old}&new=${fresh}&count=${count}`;
    const html = await fragment(`${here}/file/${file.dataset.number}/lines?${query(file)}&${range}`);
    const table = document.createElement("template");
    table.innerHTML = `<table><tbody>${html}</tbody></table>`;
    const rows = table.content.querySelectorAll("tr");
    const fold = button.closest("tr");
    fold.before(...rows);
    if (isSideBySide()) showSplit(fold.closest(".lines"), true);
    // the server limits how many lines it sends at once
    const left = Number(count) - rows.length;
    if (left > 0 && rows.length) {
      Object.assign(button.dataset, { old: Number(old) + rows.length, new: Number(fresh) + rows.length, count: left });
      button.textContent = `Show ${left} unchanged lines`;
    } else fold.remove();
  });
}

/** Shows the line of a finding. */
async function showLine({ file: path, line }) {
  document.getElementById("tab-changes").click();
  const find = () => document.querySelector(`.file[data-path="${CSS.escape(path)}"]`);
  const isLoaded = () => document.querySelector("#part-changes:not([data-empty])");
  for (let tries = 0; tries < 50 && !isLoaded(); tries++) await new Promise((resolve) => setTimeout(resolve, 60));
  const file = find();
  if (!file) return document.getElementById("part-changes").scrollIntoView();
  file.open = true;
  const body = file.querySelector("[data-wanted]");
  if (body) await fill(body);
  const row = line && file.querySelector(`tr[data-line="${CSS.escape(line)}"]`);
  row?.classList.add("highlighted");
  setTimeout(() => row?.classList.remove("highlighted"), 2500);
  await land(row || file, row ? "center" : "start");
}

/** Fetches an artifact or a prompt when it is opened for the first time. */
async function readArtifact(event) {
  const artifact = event.target;
  if (!artifact.matches?.(".artifact") || !artifact.open || artifact.dataset.read) return;
  artifact.dataset.read = "yes";
  const succeeded = await attempt(async () => artifact.append(await content(artifact.dataset)));
  if (!succeeded) delete artifact.dataset.read;
}

async function content({ fetch: page, output }) {
  if (page) return document.createRange().createContextualFragment(await fragment(`${here}/${page}`));
  const answer = await fetch(`${here}/output/${encodeURIComponent(output)}`, { headers: { Accept: "application/json" } });
  const { text, next, size } = await answer.json();
  return make("pre", { tabIndex: 0, textContent: text + (next < size ? "\n… (download it to read the rest)" : "") });
}
