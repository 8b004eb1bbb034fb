// The page of one task: parts are fetched again when something happened; what a person does goes to the API.
import { api, attempt, busy, fragment, gathered, listen, sure, tick } from "./burnish.js";
import { startChanges } from "./task-changes.js";
import { keepChoice, showOutput, startLog } from "./task-log.js";
import { startForms } from "./task-forms.js";

const { project, task, since } = document.body.dataset;
const page = document.querySelector(".task-page");
export const here = `/p/${project}/t/${task}`;
export const path = `/projects/${project}/tasks/${task}`;
// what was shown once is kept up to date; the rest is fetched when somebody looks
const shown = new Set([...document.querySelectorAll("[data-part]:not([data-empty])")].map((one) => one.dataset.part));
const TABS = [...document.querySelectorAll("[role=tab]")].map((one) => one.getAttribute("aria-controls"));
let sinceReview = false;

// parts

export const refresh = gathered(async (names) => {
  const wanted = names.filter((name) => shown.has(name));
  if (wanted.length) await attempt(() => fetchParts(wanted));
});

export async function fetchParts(names) {
  const query = `names=${names.join(",")}${sinceReview ? "&since_review=true" : ""}`;
  const html = await fragment(`${here}/parts?${query}`);
  const made = document.createRange().createContextualFragment(html);
  for (const fresh of [...made.querySelectorAll("[data-part]")]) put(fresh);
  tick();
}

function put(fresh) {
  const old = document.getElementById(fresh.id);
  if (!old) return;
  if (busy(old)) return outdated(old, fresh);
  if (keepChoice(old, fresh)) return;
  keepState(old, fresh);
  if (old.isEqualNode(fresh)) return;
  const focus = old.contains(document.activeElement) ? document.activeElement.id : "";
  old.replaceWith(fresh);
  if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
  after(fresh);
}

/** What a person opened stays open; what has not changed is not made anew. */
function keepState(old, fresh) {
  for (const file of fresh.querySelectorAll(".file")) {
    const same = old.querySelector(`.file[data-path="${CSS.escape(file.dataset.path)}"]`);
    if (same?.dataset.stamp === file.dataset.stamp) {
      for (const name of ["tree", "number"]) same.dataset[name] = file.dataset[name];
      same.id = file.id;
      file.replaceWith(same);
    } else if (same) file.open = same.open;
  }
  for (const one of fresh.querySelectorAll("details[id]:not(.file)")) {
    const same = old.querySelector(`#${CSS.escape(one.id)}`);
    if (!same) continue;
    if (one.dataset.fetch || one.dataset.output) one.replaceWith(same);
    else one.open = same.open;
  }
}

/** A form that is being filled in stays; if it is about something else by now, it says so. */
function outdated(old, fresh) {
  const form = old.querySelector("[data-gate]");
  const now = fresh.querySelector("[data-gate]");
  if (!form || now?.dataset.commit === form.dataset.commit) return;
  form.querySelector("[data-stale]").hidden = false;
  for (const button of form.querySelectorAll("[name=choice]")) button.disabled = true;
}

function after(part) {
  if (part.dataset.part === "head") {
    const open = Number(part.dataset.open);
    document.getElementById("count-findings").textContent = open || "";
    // for those who hear the page: a part that was put in place anew is not read out by itself
    const said = document.getElementById("announcement");
    const words = `${part.querySelector(".badge").textContent}. ${part.querySelector(".sentence").textContent}`;
    if (said.textContent !== words) said.textContent = words;
  }
  if (part.dataset.part === "findings") showFindings();
  if (part.dataset.part === "log") showOutput();
  document.dispatchEvent(new CustomEvent("part", { detail: part }));
}

// tabs

function open(name, { focus = false } = {}) {
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const on = tab.getAttribute("aria-controls") === name;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
    document.getElementById(tab.getAttribute("aria-controls")).hidden = !on;
    if (on && focus) tab.focus();
    // sideways alone: the page itself stays where it is
    if (on) tab.parentElement.scrollLeft = tab.offsetLeft - 40;
  }
  document.dispatchEvent(new CustomEvent("tab", { detail: name }));
  return load(name);
}

async function load(name) {
  const part = document.getElementById(`part-${name}`);
  if (!part?.hasAttribute("data-empty") || shown.has(name)) return;
  shown.add(name);
  if (!(await attempt(() => fetchParts([name])))) shown.delete(name);
}

document.querySelector(".tabs").addEventListener("click", (event) => {
  const tab = event.target.closest("[role=tab]");
  if (!tab) return;
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
  if (name === "gate") return document.getElementById("gate")?.scrollIntoView();
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
  found.scrollIntoView({ block: "start" });
  found.querySelector("summary")?.focus({ preventScroll: true });
  return true;
}

addEventListener("hashchange", () => follow(location.hash));
document.addEventListener("click", (event) => {
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
  for (const chip of part.querySelectorAll("[data-show]")) chip.setAttribute("aria-pressed", String((chip.dataset.show === "open") === only));
}
document.addEventListener("click", (event) => {
  const chip = event.target.closest("#part-findings [data-show]");
  if (!chip) return;
  page.dataset.show = chip.dataset.show;
  showFindings();
});

// buttons of the head

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-act]");
  const menu = document.querySelector(".menu[open]");
  if (menu && !event.target.closest(".menu > summary")) menu.open = false;
  if (event.target.closest("[data-reload]")) location.reload();
  if (!button) return;
  const { act, ask, words } = button.dataset;
  if (ask && ask !== "sure") return document.dispatchEvent(new CustomEvent("ask", { detail: ask.replace("page#", "").replace("note", "improve") }));
  if (ask === "sure" && (await sure(`${button.textContent.trim()}?`, words, { yes: button.textContent.trim(), danger: act === "cancel" })) === null) return;
  button.disabled = true;
  const done = await attempt(() => api(button.dataset.method, path + button.dataset.path, JSON.parse(button.dataset.body)));
  button.disabled = false;
  if (done) for (const name of ["head", "gate", "story"]) refresh(name);
});

document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && document.querySelector(".menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

// what happens

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
  for (const name of ALWAYS) refresh(name);
  for (const [kind, names] of ALSO) if (kind.test(event.type)) names.forEach((name) => refresh(name));
}, () => shown.forEach((name) => refresh(name)));

document.addEventListener("since-review", (event) => {
  sinceReview = event.detail;
  refresh("changes");
});

startForms();
startChanges();
startLog();
for (const part of document.querySelectorAll("[data-part]:not([data-empty])")) after(part);
// a link to the gate or to the override opens no tab of its own
if (["", "#gate", "#override"].includes(location.hash)) open(page.dataset.opens);
if (location.hash && (await follow(location.hash)) === false) open(page.dataset.opens);
page.dataset.ready = "yes";
