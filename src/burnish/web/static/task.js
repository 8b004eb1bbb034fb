// The page of one task: tabs, links inside of the page, buttons, and what to fetch again after an event.
import { api, attempt, listen, sure } from "./burnish.js";
import { opposite } from "./undo.js";
import { tellEnd, tellOutcome } from "./task-outcome.js";
import { land, startChanges } from "./task-changes.js";
import { announceParts, loadPart, path, project, refresh, refreshAll, since, task } from "./task-context.js";
import { startKeys } from "./task-keys.js";
import { startForms } from "./task-forms.js";
import { startLog } from "./task-log.js";
import { startReview } from "./task-review.js";

const page = document.querySelector(".task-page");
const TABS = [...document.querySelectorAll("[role=tab]")].map((tab) => tab.getAttribute("aria-controls"));

document.addEventListener("part", ({ detail: part }) => {
  if (part.dataset.part === "head") showHead(part);
  if (part.dataset.part === "findings") showFindings();
});

// addresses that leave it to the page which tab is open
const WITHOUT_TAB = ["", "#gate", "#answer", "#override"];
// false once a person has opened a tab: then the page opens no other one by itself
let isTabFree = WITHOUT_TAB.includes(location.hash);

function showHead(part) {
  // what waits for a decision is the change; a plan has none
  const hasChange = part.dataset.status === "waiting_approval" && part.dataset.type !== "plan";
  if (hasChange && isTabFree && page.dataset.opens === "story") {
    page.dataset.opens = "changes";
    open("changes");
  }
  document.getElementById("count-findings").textContent = Number(part.dataset.open) || "";
  // for screen readers, which do not read a part that was replaced
  const announcement = document.getElementById("announcement");
  const text = `${part.querySelector(".badge").textContent}. ${part.querySelector(".sentence").textContent}`;
  if (announcement.textContent !== text) announcement.textContent = text;
}

// tabs

function open(name, { focus = false } = {}) {
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const on = tab.getAttribute("aria-controls") === name;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
    document.getElementById(tab.getAttribute("aria-controls")).hidden = !on;
    if (on && focus) tab.focus();
    // scrolls the row of tabs only, not the page
    if (on) tab.parentElement.scrollLeft = tab.offsetLeft - 40;
  }
  document.dispatchEvent(new CustomEvent("tab", { detail: name }));
  return loadPart(name);
}

document.querySelector(".tabs").addEventListener("click", (event) => {
  const tab = event.target.closest("[role=tab]");
  if (!tab) return;
  isTabFree = false;
  history.replaceState(null, "", `#${tab.getAttribute("aria-controls")}`);
  open(tab.getAttribute("aria-controls"));
});
document.querySelector(".tabs").addEventListener("keydown", (event) => {
  const at = TABS.indexOf(event.target.getAttribute("aria-controls"));
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: TABS.length - 1 }[event.key];
  if (to === undefined || at < 0) return;
  event.preventDefault();
  open(TABS.at(to % TABS.length), { focus: true });
});

// links inside of the page: #changes, #F2, #artifact-review-cycle-1.md, #gate

async function follow(hash) {
  const name = decodeURIComponent(hash.slice(1));
  if (TABS.includes(name)) return open(name);
  if (name === "answer") return document.querySelector("[data-answer] :is(textarea, input, button)")?.focus();
  // at the lower edge it is always in view: the page stays at its beginning
  if (name === "gate") return document.getElementById("gate")?.scrollIntoView({ block: "nearest" });
  if (name === "override") return document.querySelector("[data-act=override]")?.click();
  if (/^F\d+$/.test(name)) {
    page.dataset.show = "all";
    await open("findings");
    showFindings();
  } else if (name.startsWith("file-")) await open("changes");
  else if (name.startsWith("artifact-") || name.startsWith("prompt-")) await open("artifacts");
  else return false;
  const found = document.getElementById(name);
  if (!found) return false;
  found.open = true;
  found.querySelector("summary")?.focus({ preventScroll: true });
  await land(found);
  return true;
}

// the link whose place the browser goes to now
let clickedHash = "";
addEventListener("hashchange", () => {
  const isTyped = clickedHash !== location.hash;
  clickedHash = "";
  // a tab in a URL that was typed: the browser has scrolled past the title
  if (isTyped && TABS.includes(location.hash.slice(1))) scrollTo({ top: 0, behavior: "instant" });
  follow(location.hash);
});
document.addEventListener("click", (event) => {
  clickedHash = event.target.closest("a[href^='#']")?.hash ?? "";
  const place = event.target.closest("a.place");
  if (place) {
    event.preventDefault();
    document.dispatchEvent(new CustomEvent("show-line", { detail: place.dataset }));
    return;
  }
  const link = event.target.closest('a[href^="#"]');
  if (link && link.getAttribute("href").length > 1 && link.hash === location.hash) follow(link.hash);
});

// findings: open ones or all

function showFindings() {
  const part = document.getElementById("part-findings");
  const only = page.dataset.show !== "all" && part.querySelector("[data-show]") !== null;
  part.classList.toggle("only-open", only);
  for (const chip of part.querySelectorAll("[data-show]")) {
    chip.setAttribute("aria-pressed", String((chip.dataset.show === "open") === only));
  }
  const choice = part.querySelector("[data-severity-filter]");
  if (choice) choice.value = page.dataset.severity ?? "";
  for (const item of part.querySelectorAll("[data-severity]")) {
    item.classList.toggle("filtered-out", Boolean(page.dataset.severity) && item.dataset.severity !== page.dataset.severity);
  }
}
document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-severity-filter]")) return;
  page.dataset.severity = event.target.value;
  showFindings();
});
document.addEventListener("click", (event) => {
  const chip = event.target.closest("#part-findings [data-show]");
  if (!chip) return;
  page.dataset.show = chip.dataset.show;
  showFindings();
});

// buttons

const DONE = {
  run: "was started",
  asking: "was started, and asks you after each review",
  goon: "continues",
  ask: "is being reviewed",
  retry: "runs again from where it stopped",
  review: "is being reviewed again",
  rebase: "is being merged with its target by the agent",
  restart: "starts again from the base",
  stop: "is being stopped; its work is kept",
  unqueue: "was taken out of the queue",
  cancel: "was cancelled; its work is kept",
  back: "is in the backlog again",
  pr: "has a pull request",
};
/** How to take a comment back; null if it has moved the task: an approval that became void stays void. */
function withdrawn({ id, task_status: status }) {
  if (status !== document.getElementById("part-head").dataset.status) return null;
  return () => api("POST", `${path}/findings/${id}/resolve`, { reason: "Undone." });
}

const STARTS = new Set(["run", "asking", "goon", "ask", "retry", "review", "rebase", "restart"]);

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-act]");
  const menu = document.querySelector(".menu[open]");
  if (menu && !event.target.closest(".menu > summary")) menu.open = false;
  if (event.target.closest("[data-reload]")) location.reload();
  if (!button) return;
  const { act, ask, words, method, body } = button.dataset;
  if (ask && ask !== "sure" && ask !== "text") {
    const dialog = ask.replace("page#", "").replace("note", "improve");
    return document.dispatchEvent(new CustomEvent("ask", { detail: dialog }));
  }
  const label = button.firstChild.textContent.trim();
  const note = ask === "text" ? "What should the agent settle?" : null;
  const way = opposite(act, document.getElementById("part-head").dataset.status);
  const answer = ask && !way ? await sure(`${label}?`, words, { yes: label, danger: act === "cancel", note }) : "";
  if (answer === null) return;
  button.disabled = true;
  const fields = { ...JSON.parse(body), ...(note === null ? {} : { text: answer }) };
  let reply = null;
  const succeeded = await attempt(async () => (reply = await api(method, path + button.dataset.path, fields)));
  button.disabled = false;
  if (!succeeded) return;
  for (const name of ["head", "gate", "story"]) refresh(name);
  if (act === "comment") return tellOutcome(`T${task} has your comment as ${reply.id}.`, withdrawn(reply));
  if (!way) return tellOutcome(`T${task} ${DONE[act] ?? `: ${label}`}.`, null, STARTS.has(act));
  const [done, back, rest, old] = way;
  tellOutcome(`T${task} ${done}.`, async () => {
    await api(back, path + rest, old);
    // the queue has no events
    for (const name of ["head", "gate", "story"]) refresh(name);
  });
});

document.addEventListener("keydown", (event) => {
  const menu = document.querySelector(".menu[open]");
  if (!menu) return;
  if (event.key === "Escape") {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || !menu.contains(event.target)) return;
  event.preventDefault();
  const items = [...menu.querySelectorAll(".items > *")].filter((one) => one.checkVisibility());
  const at = items.indexOf(document.activeElement);
  items.at(at < 0 && step < 0 ? -1 : (at + step) % items.length)?.focus();
});

// a long menu would end below the window, or below the box at its edge
document.addEventListener("toggle", ({ target }) => {
  if (target.matches?.(".menu[open]")) target.querySelector(".items").scrollIntoView({ block: "nearest" });
}, true);

// the box at the lower edge covers as much of the page as it is high
const floor = document.querySelector(".floor");
new ResizeObserver(() => {
  const isFixed = getComputedStyle(floor).position === "sticky";
  document.documentElement.style.setProperty("--floor-height", `${isFixed ? floor.offsetHeight : 0}px`);
}).observe(floor);

// events

const ALWAYS = ["head", "gate", "story"];
const ALSO = [
  [/^finding\./, ["findings", "changes"]],
  [/^(phase\.(started|finished|failed)|check\.)/, ["checks", "log", "artifacts"]],
  [/^(phase\.finished|run\.|task\.|approval\.|decision\.)/, ["changes", "findings", "artifacts"]],
];

listen(project, Number(since), (event) => {
  if (event.task !== task) {
    if (event.type === "task.status") refresh("head");
    return;
  }
  if (event.type === "task.status") tellEnd(event.data.to);
  for (const name of ALWAYS) refresh(name);
  for (const [kind, names] of ALSO) if (kind.test(event.type)) names.forEach((name) => refresh(name));
}, refreshAll);
// no event tells what an agent does meanwhile
setInterval(() => {
  if (document.querySelector("#part-story .dot.pulse") && !document.hidden) refresh("story");
}, 3000);

startForms();
startChanges();
startReview();
startKeys();
startLog();
announceParts();
// links to the gate, to the answer and to the override are not tabs
if (WITHOUT_TAB.includes(location.hash)) await open(page.dataset.opens);
if (location.hash && (await follow(location.hash)) === false) await open(page.dataset.opens);
page.dataset.ready = "yes";
document.dispatchEvent(new Event("task-ready"));
