// Moving a card by drag and drop or by its menu (m or ⋯). The card lists its legal moves; the server checks them.
import { Problem, api, attempt, make, motion, sure, toast } from "./burnish.js";
import { opposite } from "./undo.js";

const menu = document.getElementById("menu");
let board, acts, look, hold;

/** `look` fetches the card of a task again; `hold` tells which card is dragged. */
export function startMoves(given) {
  ({ board, acts, look, hold } = given);
  board.addEventListener("dragstart", pick);
  board.addEventListener("dragover", over);
  board.addEventListener("dragleave", (event) => event.target.closest(".column")?.classList.remove("drag-over"));
  board.addEventListener("drop", drop);
  board.addEventListener("dragend", letGo);
  board.addEventListener("click", (event) => {
    const more = event.target.closest(".more");
    const dep = event.target.closest(".dep");
    if (more) openMenu(more.closest(".card"));
    if (dep) go(event, dep.dataset.to);
  });
  for (const kind of ["mouseover", "focusin"]) board.addEventListener(kind, (event) => related(event.target.closest(".card")));
  board.addEventListener("mouseleave", () => related(null));
  document.addEventListener("card-menu", (event) => openMenu(event.detail));
}

const movesOf = (card) => new Map(card.dataset.moves.trim().split(/\s+/).filter(Boolean).map((one) => one.split(":")));
const name = (status) => status[0].toUpperCase() + status.slice(1).replace("_", " ");
// the board of all projects has the project at each card
const projectOf = (card) => encodeURIComponent(card.dataset.project ?? document.body.dataset.project);
const pathOf = (card) => `/projects/${projectOf(card)}/tasks/${card.dataset.id}`;
/** The status that a drop on the column leads to: the first legal one that it holds. */
const target = (column, legal) => column.dataset.statuses.split(" ").find((status) => legal.has(status));

// drag

function pick(event) {
  const card = event.target.closest(".card");
  if (!card) return;
  event.dataTransfer.setData("text/plain", card.querySelector(".title").textContent);
  event.dataTransfer.effectAllowed = "move";
  hold(card.dataset.id);
  const legal = movesOf(card);
  // after the browser has taken its drag image
  requestAnimationFrame(() => {
    card.classList.add("dragged");
    board.classList.add("dragging");
    for (const column of board.querySelectorAll(".column")) {
      const to = target(column, legal);
      const own = column.contains(card);
      column.classList.add(own ? "own" : to ? "legal" : "illegal");
      column.querySelector(".drop-here").textContent = own ? "" : to ? acts[legal.get(to)].label : "Not allowed";
    }
  });
}

function over(event) {
  const column = event.target.closest(".column");
  if (!column || !board.classList.contains("dragging")) return;
  // a drop on an illegal column shows why it is illegal
  event.preventDefault();
  event.dataTransfer.dropEffect = "move";
  column.classList.add("drag-over");
}

async function drop(event) {
  const column = event.target.closest(".column");
  const card = board.querySelector(".card.dragged");
  if (!column || !card) return;
  event.preventDefault();
  if (column.contains(card)) return;
  await moveTo(card, target(column, movesOf(card)) ?? column.dataset.statuses.split(" ")[0]);
}

function letGo() {
  board.classList.remove("dragging");
  board.querySelector(".card.dragged")?.classList.remove("dragged");
  for (const column of board.querySelectorAll(".column")) column.classList.remove("own", "legal", "illegal", "drag-over");
  hold(null);
}

async function moveTo(card, to) {
  const act = movesOf(card).get(to);
  if (act) await perform(card, act);
  else await attempt(() => why(card, to));
}

/** Shows the server's reason why a move is illegal. */
async function why(card, to) {
  const { id } = card.dataset;
  const answer = await fetch(`/p/${projectOf(card)}/why?task=${id}&to=${to}`, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Problem(await answer.json());
  // the move has become legal meanwhile
  look(id);
}

// acts

async function perform(card, which) {
  const act = acts[which];
  const id = card.dataset.id;
  const { status } = card.dataset;
  const title = card.querySelector(".title").textContent;
  if (act.ask.startsWith("page")) {
    location.href = `/p/${projectOf(card)}/t/${id}${act.ask.slice(4)}`;
    return;
  }
  const more = await confirmed(which, id, title, card);
  if (more === null) return;
  card.classList.add("waiting");
  const putBack = Object.keys(more).length ? () => {} : moveAhead(card, which);
  const succeeded = await attempt(() => api(act.method, pathOf(card) + act.path, body(act, more)));
  card.classList.remove("waiting");
  if (!succeeded) return putBack();
  look(id);
  offerUndo(opposite(which, status), card, title);
  // a run that fails at once may leave a note without an event
  setTimeout(() => look(id), 1500);
}

/** Shows the card where the act leads to, until the server answers; returns a function that puts it back. */
function moveAhead(card, which) {
  const to = [...movesOf(card)].find(([, act]) => act === which)?.[0];
  const columns = [...board.querySelectorAll(".column")];
  const list = to && columns.find((one) => one.dataset.statuses.split(" ").includes(to))?.querySelector(".cards");
  const [old, next] = [card.parentElement, card.nextElementSibling];
  if (!list || list === old) return () => {};
  list.prepend(card);
  return () => card.isConnected && old.insertBefore(card, next?.parentElement === old ? next : null);
}

function offerUndo(way, card, title) {
  if (!way) return;
  const { id } = card.dataset;
  const [words, method, path, fields] = way;
  const undo = async () => {
    await api(method, pathOf(card) + path, fields);
    look(id);
  };
  toast(`T${id} ${words}.`, { hint: title, undo });
}

const body = (act, more) => (act.method === "DELETE" ? undefined : { ...act.body, ...more });

// the text that each question asks for, by its name in the request
const NOTES = { note: "What should change? (optional)", text: "What should the agent settle?" };

async function confirmed(which, id, title, card) {
  const act = acts[which];
  if (act.ask === "merge") return howToMerge(id, title, card);
  if (!act.ask || opposite(which, card.dataset.status)) return {};
  const danger = act.ask === "sure";
  const words = await sure(`${act.label} task ${id}?`, `${title}. ${act.words}`, {
    yes: act.label,
    danger,
    note: NOTES[act.ask] ?? null,
  });
  if (words === null) return null;
  return act.ask in NOTES ? { [act.ask]: words } : {};
}

function howToMerge(id, title, card) {
  const dialog = document.getElementById("merge-form");
  dialog.querySelector("h2").textContent = `Merge task ${id}: ${title}`;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener(
      "close",
      () => {
        const how = new FormData(dialog.querySelector("form")).get("how");
        resolve(dialog.returnValue === "go" ? { commit: card.dataset.commit, how } : null);
      },
      { once: true },
    );
  });
}

// menu

function openMenu(card) {
  const entries = [...ways(card)].map(([act, to]) => actEntry(card, act, `→ ${to.join(", ")}`));
  const others = card.dataset.others.split(" ").filter(Boolean).map((act) => actEntry(card, act, ""));
  others.unshift(entry("Edit…", "", () => document.dispatchEvent(new CustomEvent("edit-task", { detail: card.dataset.id }))));
  others.unshift(entry("Open", "", () => (location.href = card.querySelector(".title").href)));
  const why = "untrusted" in card.dataset ? ": the checkout is not trusted, so nothing is run" : "";
  const head = make("p", { className: "muted", textContent: `Task ${card.dataset.id}${why}` });
  const list = make("div");
  list.setAttribute("role", "menu");
  list.setAttribute("aria-label", `Actions for task ${card.dataset.id}`);
  list.append(...entries, ...(entries.length ? [make("hr")] : []), ...others);
  menu.replaceChildren(head, list);
  // not modal: on a large board that takes the browser some 30 ms, at opening and at closing
  menu.show();
  place(card.querySelector(".more"));
  menu.querySelector("button").focus();
  const back = () => document.activeElement === document.body && !document.querySelector("dialog[open]") && cardNow(card).focus();
  menu.addEventListener("close", back, { once: true });
}

/** Returns each act with the columns that it can lead to. */
function ways(card) {
  const found = new Map();
  for (const [to, act] of movesOf(card)) found.set(act, [...(found.get(act) ?? []), name(to)]);
  return found;
}

// the card may have been replaced since the menu was opened
const cardNow = (card) => document.getElementById(card.id) ?? card;

function actEntry(card, act, where) {
  return entry(acts[act].label, where, () => perform(cardNow(card), act), act === "remove");
}

function entry(label, where, action, danger = false) {
  const button = make("button", { type: "button", className: danger ? "plain danger" : "plain" });
  button.setAttribute("role", "menuitem");
  button.append(make("span", { textContent: label }), make("span", { className: "muted", textContent: where }));
  button.addEventListener("click", () => {
    menu.close();
    action();
  });
  return button;
}

/** Places the menu under its button, inside of the window. */
function place(anchor) {
  const at = anchor.getBoundingClientRect();
  const box = menu.getBoundingClientRect();
  const left = Math.min(Math.max(8, at.right - box.width), innerWidth - box.width - 8);
  const top = at.bottom + box.height + 8 > innerHeight ? Math.max(8, at.top - box.height) : at.bottom;
  menu.style.left = `${left}px`;
  menu.style.top = `${top}px`;
}

document.addEventListener("pointerdown", (event) => menu.open && !menu.contains(event.target) && menu.close());
menu.addEventListener("focusout", (event) => event.relatedTarget && !menu.contains(event.relatedTarget) && menu.close());
menu.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    event.stopPropagation();
    menu.close();
  }
  const buttons = [...menu.querySelectorAll("button")];
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length].focus();
});

// dependencies

let shown = null;

function related(card) {
  if (card === shown) return;
  for (const one of board.querySelectorAll(".card.dependency, .card.dependent")) one.classList.remove("dependency", "dependent");
  shown = card;
  for (const id of (card?.dataset.needs ?? "").split(" ")) document.getElementById(`t${id}`)?.classList.add("dependency");
  for (const id of (card?.dataset.blocks ?? "").split(" ")) document.getElementById(`t${id}`)?.classList.add("dependent");
}

function go(event, id) {
  event.preventDefault();
  const card = document.getElementById(`t${id}`);
  if (!card) return toast(`Task ${id} is no longer on the board.`);
  card.scrollIntoView({ block: "nearest", inline: "center", behavior: motion() });
  card.focus({ preventScroll: true });
}

// links to columns on small screens

/** `within` holds the links and the board, which may be replaced. */
export function startTabs(within) {
  const mark = () => {
    const board = within.querySelector(".board");
    const left = board.getBoundingClientRect().left + 40;
    const columns = [...board.querySelectorAll(".column")];
    const first = columns.find((column) => !column.hidden && column.getBoundingClientRect().right > left);
    for (const tab of within.querySelectorAll(".tabs a")) {
      const here = tab.dataset.column === first?.dataset.column;
      if (here === tab.hasAttribute("aria-current")) continue;
      here ? tab.setAttribute("aria-current", "true") : tab.removeAttribute("aria-current");
      if (here && tab.offsetParent) tab.parentElement.scrollTo({ left: tab.offsetLeft - 60 });
    }
  };
  const show = (name, behavior) =>
    document.getElementById(`c-${name}`).scrollIntoView({ inline: "start", block: "nearest", behavior });
  within.addEventListener("click", (event) => {
    const tab = event.target.closest(".tabs a");
    if (!tab) return;
    event.preventDefault();
    show(tab.dataset.column, motion());
  });
  let planned = false;
  within.addEventListener("scroll", () => {
    if (planned) return;
    planned = true;
    requestAnimationFrame(() => {
      planned = false;
      mark();
    });
  }, true);
  // a small screen shows one column: not an empty one, if there is another
  const filled = [...within.querySelectorAll(".column")].find((column) => column.querySelector(".card"));
  if (filled?.previousElementSibling && within.querySelector(".tabs").checkVisibility()) show(filled.dataset.column, "instant");
  mark();
  return mark;
}
