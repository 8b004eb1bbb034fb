// Search and filters: which cards are shown. They are part of the URL, so a reload keeps them.
import { preference, setPreference } from "./preferences.js";

const search = document.getElementById("search");
const agent = document.getElementById("by-agent");
const status = document.getElementById("by-status");
const tag = document.getElementById("by-tag");
const chips = [...document.querySelectorAll(".chip")];
// ids of tasks whose long texts match, from the server
let inText = new Set();
let timer = null;
// folded columns: rare ones while they are empty, and those that the user has folded
const RARE = new Set(["failed", "cancelled"]);
const foldedByHand = new Set((preference("folded") || "cancelled").split(" ").filter(Boolean));

const words = () => search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);

function criteria() {
  const flags = chips.filter((chip) => chip.getAttribute("aria-pressed") === "true").map((chip) => chip.dataset.flag);
  const any = Boolean(search.value.trim() || flags.length || agent.value || status.value || tag.value);
  return { words: words(), flags, agent: agent.value, status: status.value, tag: tag.value, any };
}

function fits(card, want) {
  if (want.status && card.dataset.status !== want.status) return false;
  if (want.tag && !card.dataset.tags.split(" ").includes(want.tag)) return false;
  if (want.agent && card.dataset.agent !== want.agent) return false;
  const flags = card.dataset.flags.split(" ");
  if (!want.flags.every((flag) => flags.includes(flag))) return false;
  if (!want.words.length || inText.has(Number(card.dataset.id))) return true;
  const text = `${card.dataset.id} ${card.querySelector(".title").textContent.toLowerCase()}`;
  return want.words.every((word) => text.includes(word));
}

/** Hides cards that do not match and updates the counts. */
export function filter(lists) {
  const want = criteria();
  let shown = 0;
  let all = 0;
  for (const [name, list] of lists) {
    const cards = list.children;
    let visible = 0;
    for (const card of cards) {
      const hidden = want.any && !fits(card, want);
      if (card.hidden !== hidden) card.hidden = hidden;
      if (!hidden) visible += 1;
    }
    mark(list.parentElement, name, visible, cards.length);
    all += cards.length;
    shown += visible;
  }
  document.getElementById("no-match").hidden = shown > 0 || all === 0 || !want.any;
  document.getElementById("board").classList.toggle("single-column", Boolean(status.value));
}

/** Adds tags to the filter, if they are new. */
export function addTags(names) {
  for (const name of names.split(" ").filter(Boolean)) {
    if (![...tag.options].some((option) => option.value === name)) tag.add(new Option(name, name));
    tag.hidden = false;
  }
}

/** Adds an agent to the filter, if it is new. */
export function addAgent(name) {
  if (name && ![...agent.options].some((option) => option.value === name)) agent.add(new Option(name, name));
}

function mark(column, name, visible, total) {
  const words = visible === total ? String(total) : `${visible}/${total}`;
  const tab = document.querySelector(`.tabs [data-column="${name}"] .count`);
  const count = column.querySelector(".count");
  if (count.textContent !== words) count.textContent = tab.textContent = words;
  column.toggleAttribute("data-empty", visible === 0);
  const folded = !status.value && (foldedByHand.has(name) || (visible === 0 && RARE.has(name)));
  column.classList.toggle("folded", folded);
  column.querySelector(".fold").setAttribute("aria-expanded", String(!folded));
  // what waits for a person is in one column, whatever its status
  column.hidden = Boolean(status.value) && !visible && !column.dataset.statuses.split(" ").includes(status.value);
}

/** Folds or unfolds a column; with `save` it is remembered. */
export function fold(name, folded = !foldedByHand.has(name), save = true) {
  folded ? foldedByHand.add(name) : foldedByHand.delete(name);
  // never empty: that would be the choice of somebody who has not chosen
  if (save) setPreference("folded", [...foldedByHand].join(" ") || "none");
  document.dispatchEvent(new Event("filtered"));
}

document.getElementById("board").addEventListener("click", (event) => {
  const button = event.target.closest(".fold");
  if (button) fold(button.closest(".column").dataset.column);
});

function changeFilter() {
  const here = new URL(location.href);
  const put = (key, value) => (value ? here.searchParams.set(key, value) : here.searchParams.delete(key));
  put("q", search.value.trim());
  put("agent", agent.value);
  put("status", status.value);
  put("tag", tag.value);
  put("only", chips.filter((c) => c.getAttribute("aria-pressed") === "true").map((c) => c.dataset.flag).join(" "));
  history.replaceState(null, "", here);
  document.dispatchEvent(new Event("filtered"));
}

async function askServer() {
  const text = search.value.trim();
  const answer = text ? await fetch(`/p/${document.body.dataset.project}/found?q=${encodeURIComponent(text)}`) : null;
  if (text !== search.value.trim()) return;
  inText = new Set(answer?.ok ? (await answer.json()).ids : []);
  document.dispatchEvent(new Event("filtered"));
}

search.addEventListener("input", () => {
  inText = new Set();
  clearTimeout(timer);
  timer = setTimeout(askServer, 150);
  changeFilter();
});
agent.addEventListener("change", changeFilter);
tag.addEventListener("change", changeFilter);
status.addEventListener("change", changeFilter);
for (const chip of chips) {
  chip.addEventListener("click", () => {
    chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
    changeFilter();
  });
}

export function clear() {
  search.value = agent.value = status.value = tag.value = "";
  inText = new Set();
  for (const chip of chips) chip.setAttribute("aria-pressed", "false");
  changeFilter();
}
document.getElementById("clear").addEventListener("click", clear);

document.getElementById("columns").addEventListener("change", (event) => {
  document.cookie = `burnish_columns=${event.target.value}; path=/; max-age=31536000; samesite=strict`;
  location.reload();
});

const query = new URL(location.href).searchParams;
search.value = query.get("q") ?? "";
agent.value = query.get("agent") ?? "";
status.value = query.get("status") ?? "";
tag.value = query.get("tag") ?? "";
const only = (query.get("only") ?? "").split(" ");
for (const chip of chips) chip.setAttribute("aria-pressed", String(only.includes(chip.dataset.flag)));
if (search.value) askServer();
