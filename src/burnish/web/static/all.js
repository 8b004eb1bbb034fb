// The board of all projects: fetched again after events of any project. Cards act as on the board of a project.
import { fragment, gathered, keepFocusOnBack, listen, swap, tick } from "./burnish.js";
import { startMoves, startTabs } from "./board-moves.js";
import { addKeys } from "./keys.js";

const all = document.getElementById("all");
const search = document.getElementById("search");
// cards are not replaced while one is dragged
let dragged = null;

const renew = gathered(async () => {
  if (dragged) return;
  try {
    const scrolls = [...document.querySelectorAll(".cards")].map((list) => list.scrollTop);
    const left = all.querySelector(".board").scrollLeft;
    const focus = document.activeElement?.closest(".card")?.id;
    swap(document.getElementById("all-board"), await fragment(`/all/part${location.search}`));
    [...document.querySelectorAll(".cards")].forEach((list, at) => (list.scrollTop = scrolls[at]));
    all.querySelector(".board").scrollLeft = left;
    markTab();
    if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
    tick();
  } catch {
    // the next event tries again
  }
}, { first: 20, storm: 2000, rest: 8 });

const markTab = startTabs(all);
for (const [project, since] of Object.entries(JSON.parse(document.body.dataset.since))) {
  listen(project, since, () => renew("all"), () => renew("all"));
}

startMoves({
  board: all,
  acts: JSON.parse(all.dataset.acts),
  look: () => renew("all"),
  hold: (id) => {
    dragged = id;
    if (!id) renew("all");
  },
});
// the search is part of the URL, so a reload and Back keep it
const searchLater = gathered(() => {
  const here = new URL(location.href);
  const words = search.value.trim();
  words ? here.searchParams.set("q", words) : here.searchParams.delete("q");
  history.replaceState(null, "", here);
  renew("all");
}, { first: 150 });
search.addEventListener("input", () => searchLater("search"));
search.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    clearSearch();
    search.blur();
  }
  if (event.key === "Enter" || event.key === "ArrowDown") {
    event.preventDefault();
    columns()[0]?.firstElementChild.focus();
  }
});
all.addEventListener("click", (event) => event.target.closest("[data-clear]") && clearSearch());

function clearSearch() {
  search.value = "";
  searchLater("search");
}

// the form is on the board of the project
document.addEventListener("edit-task", ({ detail: id }) => {
  const { project } = card()?.dataset ?? lastCard.dataset;
  location.href = `/p/${encodeURIComponent(project)}#edit-${id}`;
});

const card = () => document.activeElement?.closest?.(".card");
let lastCard = null;
all.addEventListener("focusin", () => (lastCard = card()));
all.addEventListener("click", (event) => (lastCard = event.target.closest(".card") ?? lastCard), true);

const columns = () => [...document.querySelectorAll(".cards")].filter((list) => list.children.length);

function walk(step) {
  const lists = columns();
  const now = card();
  const cards = now ? [...now.parentElement.children] : [];
  const at = cards.indexOf(now);
  const beside = (by) => {
    const list = lists[lists.indexOf(now.parentElement) + by];
    return list?.children[Math.min(at, list.children.length - 1)];
  };
  const next = !now ? lists[0]?.firstElementChild : { down: cards[at + 1], up: cards[at - 1], left: beside(-1), right: beside(1) }[step];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

addKeys("All projects", [
  { keys: ["j", "ArrowDown"], words: "card below", run: () => walk("down") },
  { keys: ["k", "ArrowUp"], words: "card above", run: () => walk("up") },
  { keys: ["h", "ArrowLeft"], words: "column to the left", run: () => walk("left") },
  { keys: ["l", "ArrowRight"], words: "column to the right", run: () => walk("right") },
  { keys: ["Enter"], words: "open the task", when: (event) => card() && event.target === card(),
    run: () => (location.href = card().querySelector(".title").href) },
  { keys: ["m"], words: "show the actions for the task, with its moves", when: card, needs: "maintainer",
    run: () => document.dispatchEvent(new CustomEvent("card-menu", { detail: card() })) },
  { keys: ["/"], words: "search in all projects", run: () => search.focus() },
]);
keepFocusOnBack(".card");
