// The board: fetches changed cards again and moves them to their columns.
import { fragment, gathered, listen, make, swap, tick, toast } from "./burnish.js";
import { addAgent, addTags, filter, fold } from "./board-filter.js";
import { startForms } from "./board-forms.js";
import "./image-drop.js";
import { keepTabStops, startKeys } from "./board-keys.js";
import { startMoves } from "./board-moves.js";
import "./saved-filters.js";

const board = document.getElementById("board");
const project = document.body.dataset.project;
const lists = new Map([...board.querySelectorAll(".column")].map((c) => [c.dataset.column, c.querySelector(".cards")]));
// HTML of each card as the server sent it, to skip those that are the same
const sources = new Map();
const notices = new Set();
const loaded = Date.now();
// cards below the first screen, which the page comes without
const missing = new Set((board.dataset.more ?? "").split(" ").filter(Boolean));
// of the missing ones in one request: the server answers changes that come meanwhile between two of them
const PART = 60;
// events that do not change a card
const SILENT = new Set(["phase.progress", "review.progress", "baseline.captured", "finding.reanchored", "notify.failed"]);
// events that also change the cards of dependencies
const AROUND = /^task\.|^run\.|^approval\.|^override\./;
// a card is not replaced while it is dragged
let dragged = null;

const cardOf = (id) => document.getElementById(`t${id}`);
const changed = gathered(refetch, { rest: 0.5 });
// apart from the changes, which do not wait for them
const loadMore = gathered(fetchMissing, { rest: 0.5 });

async function refetch(items) {
  const ids = new Set();
  let around = false;
  for (const item of items) {
    const [id, wide] = item.split("+");
    ids.add(id);
    if (wide === undefined) continue;
    around = true;
    for (const other of neighbours(cardOf(id))) ids.add(other);
  }
  if (dragged && ids.delete(dragged)) setTimeout(() => changed(dragged ?? ""), 500);
  ids.delete("");
  // the summary comes with every answer
  const head = ids.delete("head") && !ids.size;
  const requested = head ? ["0"] : [...ids];
  // the length of a URL is limited
  for (let at = 0; at < requested.length; at += 1000) {
    const part = requested.slice(at, at + 1000);
    try {
      apply(await cardsOf(part, around), part);
    } catch {
      // no connection, or the server is busy: retry
      setTimeout(() => part.forEach((id) => changed(id)), 1500);
      return;
    }
  }
}

async function cardsOf(ids, around = false) {
  const page = make("template");
  page.innerHTML = await fragment(`/p/${project}/cards?ids=${ids.join(",")}${around ? "&around=1" : ""}`);
  return page.content;
}

async function fetchMissing() {
  const part = [...missing].slice(0, PART);
  if (!part.length) return;
  try {
    const content = await cardsOf(part);
    // a change that was answered meanwhile is newer
    for (const card of content.querySelectorAll(".card")) if (!missing.has(card.dataset.id)) card.remove();
    content.getElementById("head")?.remove();
    apply(content, part.filter((id) => missing.has(id)));
    if (missing.size) loadMore("more");
  } catch {
    setTimeout(() => loadMore("more"), 1500);
  }
}

const neighbours = (card) => `${card?.dataset.needs ?? ""} ${card?.dataset.blocks ?? ""}`.split(" ").filter(Boolean);

function apply(content, requested) {
  const present = new Set();
  const arrived = [];
  const focused = document.activeElement?.closest(".card")?.dataset.id;
  for (const card of content.querySelectorAll(".card")) {
    present.add(card.dataset.id);
    const text = card.outerHTML;
    if (sources.get(card.dataset.id) === text) continue;
    sources.set(card.dataset.id, text);
    addAgent(card.dataset.agent);
    addTags(card.dataset.tags);
    if (put(document.importNode(card, true)) && !missing.has(card.dataset.id)) arrived.push(card.dataset.id);
  }
  for (const id of requested) if (!present.has(id)) drop(id);
  keepTabStops(lists);
  const isComplete = arrive([...requested, ...present]);
  const head = content.getElementById("head");
  if (head) renew(head);
  content.querySelectorAll(".notice").forEach(showNotice);
  tick();
  refresh();
  if (isComplete) returnToPlace();
  if (focused) focusAgain(focused, arrived.includes(focused));
  for (const id of arrived) if (arrived.length < 30) cardOf(id).classList.add("arrived");
}

/** Notes that these cards have come; returns true if the last missing one is among them. */
function arrive(ids) {
  if (!missing.size) return false;
  for (const id of ids) missing.delete(id);
  return !missing.size;
}

/** Replaces the summary. A run that starts or ends changes which tasks are queued, without an event. */
function renew(head) {
  const old = document.getElementById("head");
  const other = old.dataset.runs !== head.dataset.runs;
  swap(old, head.outerHTML);
  if (other) for (const card of board.querySelectorAll(".card[data-status=backlog], .card[data-standing]")) changed(card.dataset.id);
}

/** Puts a card into its column, by rank; returns true if the column is a new one. */
function put(card) {
  const old = cardOf(card.dataset.id);
  const list = lists.get(card.dataset.column);
  if (old) card.tabIndex = old.tabIndex;
  const stays = old && old.parentElement === list && old.dataset.rank === card.dataset.rank;
  const elsewhere = old?.parentElement !== list;
  if (stays) old.replaceWith(card);
  else {
    old?.remove();
    list.insertBefore(card, after(list, Number(card.dataset.rank)));
  }
  return elsewhere;
}

/** Focuses a card that was replaced; unfolds its column first, because a hidden card cannot have the focus. */
function focusAgain(id, moved) {
  const card = cardOf(id);
  if (!card || card.contains(document.activeElement)) return;
  if (card.closest(".folded")) fold(card.dataset.column, false, false);
  card.focus({ preventScroll: true });
  if (moved) card.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function after(list, rank) {
  let next = list.lastElementChild;
  let found = null;
  while (next && Number(next.dataset.rank) > rank) {
    found = next;
    next = next.previousElementSibling;
  }
  return found;
}

function drop(id) {
  const card = cardOf(id);
  sources.delete(id);
  if (!card) return;
  const next = card.nextElementSibling ?? card.previousElementSibling;
  if (card.contains(document.activeElement)) next?.focus();
  card.remove();
}

function showNotice(notice) {
  if (notices.has(notice.textContent)) return;
  notices.add(notice.textContent);
  // skips notices from before this page was opened
  if (Date.parse(notice.dataset.at) > loaded - 2000) toast(notice.textContent);
}

/** Updates what depends on all cards: counts, filters, buttons. */
export function refresh() {
  // until then, the counts of the server are right
  if (!missing.size) filter(lists);
  const head = document.getElementById("head");
  const run = document.getElementById("run-all");
  run.querySelector(".number").textContent = Number(head.dataset.ready) ? `(${head.dataset.ready})` : "";
  const auto = document.getElementById("auto");
  const isAuto = "auto" in head.dataset;
  const isTrusted = !("untrusted" in head.dataset);
  run.disabled = !Number(head.dataset.ready) || !isTrusted;
  auto.disabled = !isAuto && !isTrusted;
  auto.setAttribute("aria-checked", String(isAuto));
  for (const [button, words] of [[run, "Run all tasks that are ready"], [auto, "Run every task as it becomes ready"]]) {
    button.title = isTrusted ? words : "The checkout is not trusted, so nothing is run";
  }
  document.getElementById("stop-all").hidden = !head.dataset.runs;
  document.getElementById("welcome").hidden = Boolean(board.querySelector(".card"));
}

/** Fetches these cards now, without an event. */
export const look = (...ids) => ids.forEach((id) => changed(`${id}+`));
export const lookAtHead = () => changed("head");
export const hold = (id) => {
  const before = dragged;
  dragged = id;
  if (before && !id) changed(before);
};

// the place on the board is kept when the user comes back, or reloads

const PLACE = `burnish-place:${location.pathname}`;
addEventListener("pagehide", () => {
  const columns = [...lists].map(([name, list]) => [name, list.scrollTop]);
  const focus = document.activeElement?.closest(".card")?.id ?? lastCard;
  sessionStorage.setItem(PLACE, JSON.stringify({ columns, left: board.scrollLeft, focus }));
});
let lastCard = "";
board.addEventListener("click", (event) => (lastCard = event.target.closest(".card")?.id ?? ""), true);

function returnToPlace() {
  const how = performance.getEntriesByType("navigation")[0]?.type;
  const place = JSON.parse(sessionStorage.getItem(PLACE) ?? "null");
  if (!place || (how !== "back_forward" && how !== "reload")) return;
  const scrolls = new Map(place.columns);
  for (const [name, list] of lists) list.scrollTop = scrolls.get(name) ?? 0;
  board.scrollLeft = place.left;
  const card = how === "back_forward" && place.focus ? document.getElementById(place.focus) : null;
  card?.focus({ preventScroll: true });
  card?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

board.addEventListener("animationend", (event) => event.target.classList.remove("arrived"));
const acts = JSON.parse(board.dataset.acts);
startMoves({ board, acts, look, hold });
startForms({ project, look, lookAtHead });
startKeys({ board, lists });
document.addEventListener("filtered", refresh);
refresh();
if (missing.size) requestAnimationFrame(() => setTimeout(() => loadMore("more")));
else returnToPlace();
// a link from a task's page opens its form
const edit = location.hash.match(/^#edit-(\d+)$/);
if (edit) document.dispatchEvent(new CustomEvent("edit-task", { detail: edit[1] }));

function runningAgain() {
  for (const card of board.querySelectorAll("[data-standing]")) changed(card.dataset.id);
  if (document.getElementById("head").dataset.runs) changed("head");
}
listen(
  project,
  Number(board.dataset.since),
  (event) => {
    // a run ends a moment after its last task
    if (AROUND.test(event.type) && document.getElementById("head").dataset.runs) setTimeout(() => changed("head"), 1500);
    if (event.task && !SILENT.has(event.type)) changed(AROUND.test(event.type) ? `${event.task}+` : `${event.task}`);
  },
  runningAgain,
);
// there is no event when a runner is killed, or when an agent does the next thing
setInterval(runningAgain, 5000);
