// The board: what changed is fetched again, by ids, and put where it belongs.
import { fragment, gathered, listen, make, swap, tick, toast } from "./burnish.js";
import { filter, fold, known } from "./board-filter.js";
import { startForms } from "./board-forms.js";
import { startKeys } from "./board-keys.js";
import { startMoves } from "./board-moves.js";

const board = document.getElementById("board");
const project = document.body.dataset.project;
const lists = new Map([...board.querySelectorAll(".column")].map((c) => [c.dataset.status, c.querySelector(".cards")]));
// as the server wrote them, to leave alone what is the same
const written = new Map();
const told = new Set();
const loaded = Date.now();
// events that leave a card as it is
const SILENT = new Set(["phase.progress", "review.progress", "baseline.captured", "finding.reanchored", "notify.failed"]);
// these say something to the neighbours, too
const AROUND = /^task\.|^run\.|^approval\.|^override\./;
// while a card is in the hand it is not taken away
let held = null;

const cardOf = (id) => document.getElementById(`t${id}`);
const changed = gathered(refetch);

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
  if (held && ids.delete(held)) setTimeout(() => changed(held ?? ""), 500);
  ids.delete("");
  // the head comes with every answer
  const head = ids.delete("head") && !ids.size;
  const wanted = head ? ["0"] : [...ids];
  // an address has its limits
  for (let at = 0; at < wanted.length; at += 1000) {
    const part = wanted.slice(at, at + 1000);
    try {
      apply(await fragment(`/p/${project}/cards?ids=${part.join(",")}${around ? "&around=1" : ""}`), part);
    } catch {
      // the line is cut or the server busy: once more, later
      setTimeout(() => part.forEach((id) => changed(id)), 1500);
      return;
    }
  }
}

const neighbours = (card) => `${card?.dataset.needs ?? ""} ${card?.dataset.blocks ?? ""}`.split(" ").filter(Boolean);

function apply(html, asked) {
  const made = make("template");
  made.innerHTML = html;
  const there = new Set();
  const arrived = [];
  const focused = document.activeElement?.closest(".card")?.dataset.id;
  for (const card of made.content.querySelectorAll(".card")) {
    there.add(card.dataset.id);
    const text = card.outerHTML;
    if (written.get(card.dataset.id) === text) continue;
    written.set(card.dataset.id, text);
    known(card.dataset.agent);
    if (put(document.importNode(card, true))) arrived.push(card.dataset.id);
  }
  for (const id of asked) if (!there.has(id)) drop(id);
  const head = made.content.getElementById("head");
  if (head) renew(head);
  made.content.querySelectorAll(".notice").forEach(say);
  tick();
  refresh();
  if (focused) focusAgain(focused, arrived.includes(focused));
  for (const id of arrived) if (arrived.length < 30) cardOf(id).classList.add("arrived");
}

/** A run that begins or ends is no event: it queues what is ready, and lets it go. */
function renew(head) {
  const old = document.getElementById("head");
  const other = old.dataset.runs !== head.dataset.runs;
  swap(old, head.outerHTML);
  if (other) for (const card of board.querySelectorAll("#c-backlog .card, .card[data-standing]")) changed(card.dataset.id);
}

/** Where its status and rank want it; true if that is another place than before. */
function put(card) {
  const old = cardOf(card.dataset.id);
  const list = lists.get(card.dataset.status);
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

/** Only now that its column is unfolded: what is not shown cannot have the focus. */
function focusAgain(id, moved) {
  const card = cardOf(id);
  if (!card || card.contains(document.activeElement)) return;
  if (card.closest(".folded")) fold(card.dataset.status, false, false);
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
  written.delete(id);
  if (!card) return;
  const next = card.nextElementSibling ?? card.previousElementSibling;
  if (card.contains(document.activeElement)) next?.focus();
  card.remove();
}

function say(notice) {
  if (told.has(notice.textContent)) return;
  told.add(notice.textContent);
  // what was said before this page was opened is old
  if (Date.parse(notice.dataset.at) > loaded - 2000) toast(notice.textContent);
}

/** What depends on all cards together: counts, what is hidden, what can be started. */
export function refresh() {
  filter(lists);
  const head = document.getElementById("head");
  const run = document.getElementById("run-all");
  run.querySelector(".number").textContent = Number(head.dataset.ready) ? `(${head.dataset.ready})` : "";
  run.disabled = !Number(head.dataset.ready);
  document.getElementById("stop-all").hidden = !head.dataset.runs;
  document.getElementById("welcome").hidden = Boolean(board.querySelector(".card"));
}

/** Bring these up to date now, whatever was or was not told. */
export const look = (...ids) => ids.forEach((id) => changed(`${id}+`));
export const lookAtHead = () => changed("head");
export const hold = (id) => {
  const before = held;
  held = id;
  if (before && !id) changed(before);
};

board.addEventListener("animationend", (event) => event.target.classList.remove("arrived"));
const acts = JSON.parse(board.dataset.acts);
startMoves({ board, project, acts, look, hold });
startForms({ project, look, lookAtHead });
startKeys({ board, lists });
document.addEventListener("filtered", refresh);
refresh();
// from a task's own page: its form
const wanted = location.hash.match(/^#edit-(\d+)$/);
if (wanted) document.dispatchEvent(new CustomEvent("edit-task", { detail: wanted[1] }));

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
// that a runner was killed is no event
setInterval(runningAgain, 10000);
