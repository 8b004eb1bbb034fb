// Keyboard shortcuts of the board. One card of each column is in the tab order; arrow keys and h j k l go to the others.
import { clear } from "./board-filter.js";
import { startTabs } from "./board-moves.js";
import { addKeys } from "./keys.js";

const STEPS = {
  ArrowLeft: "left", h: "left", ArrowRight: "right", l: "right",
  ArrowUp: "up", k: "up", ArrowDown: "down", j: "down",
};
let board, lists;
// the card that had the focus last
let lastCard = "";

/** A column that scrolls must be reached by Tab, so one of its cards is in the tab order. */
export function keepTabStops(lists) {
  for (const list of lists.values()) {
    const [first, ...more] = list.querySelectorAll(':scope > [tabindex="0"]');
    for (const one of more) one.tabIndex = -1;
    if (!first && list.firstElementChild) list.firstElementChild.tabIndex = 0;
  }
}

export function startKeys(given) {
  ({ board, lists } = given);
  keepTabStops(lists);
  board.addEventListener("focusin", (event) => {
    const card = event.target.closest(".card");
    if (card) lastCard = card.id;
    if (!card || card.tabIndex === 0) return;
    for (const one of card.parentElement.querySelectorAll(':scope > [tabindex="0"]')) one.tabIndex = -1;
    card.tabIndex = 0;
  });
  addKeys("Board", KEYS);
  document.getElementById("search").addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      clear();
      event.target.blur();
    }
    if (event.key === "Enter" || event.key === "ArrowDown") {
      event.preventDefault();
      visible()[0]?.focus();
    }
  });
  startTabs(document.getElementById("main"));
}

// a folded column's cards are not shown
const cardsOf = (list) => (list.offsetParent ? [...list.children].filter((card) => !card.hidden) : []);
const visible = () => [...lists.values()].flatMap(cardsOf);

const card = () => document.activeElement?.closest?.(".card");
const toCard = (name) => () => document.dispatchEvent(new CustomEvent(name, { detail: name === "card-menu" ? card() : card().dataset.id }));
const step = (keys, words) => ({ keys, words, run: (event) => walk(card(), STEPS[event.key]) });

const KEYS = [
  step(["j", "ArrowDown"], "card below"),
  step(["k", "ArrowUp"], "card above"),
  step(["h", "ArrowLeft"], "column to the left"),
  step(["l", "ArrowRight"], "column to the right"),
  // Enter on a button or link activates it
  { keys: ["Enter"], words: "open the task", when: (event) => card() && event.target === card(),
    run: () => (location.href = card().querySelector(".title").href) },
  { keys: ["m"], words: "show the actions for the task, with its moves", when: card, needs: "maintainer", run: toCard("card-menu") },
  { keys: ["e"], words: "edit the task", when: card, needs: "maintainer", run: toCard("edit-task") },
  { keys: ["n"], words: "add a task", needs: "maintainer", run: () => document.getElementById("add").click() },
  { keys: ["/"], words: "search", run: () => document.getElementById("search").focus() },
  { keys: ["Escape"], words: "leave the card, or clear the search", when: card, run: () => card().blur() },
];

function walk(card, step) {
  const next = card ? neighbour(card, step) : (visible().find((one) => one.id === lastCard) ?? visible()[0]);
  if (!next) return;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function neighbour(card, step) {
  const own = cardsOf(card.parentElement);
  if (step === "up" || step === "down") return own[own.indexOf(card) + (step === "up" ? -1 : 1)];
  const columns = [...lists.values()].filter((list) => !list.parentElement.hidden);
  const by = step === "left" ? -1 : 1;
  // a single column is shown as a grid
  if (board.classList.contains("single-column")) return own[own.indexOf(card) + by];
  const height = card.getBoundingClientRect().top;
  for (let at = columns.indexOf(card.parentElement) + by; columns[at]; at += by) {
    const cards = cardsOf(columns[at]);
    // measuring all cards of a long column is slow
    if (cards.length) return nearest(cards.slice(0, 200), height);
  }
  return undefined;
}

function nearest(cards, height) {
  const distance = (card) => Math.abs(card.getBoundingClientRect().top - height);
  return cards.reduce((best, card) => (distance(card) < distance(best) ? card : best));
}
