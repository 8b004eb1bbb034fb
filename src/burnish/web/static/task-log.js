// The output of agents and checks, fetched in pieces while they run.
import { fetchParts, here, keepPartIf } from "./task-context.js";

const box = document.getElementById("output");
const PAUSE = 1000;
// older pieces are removed from the page; the download has all of them
const MAX_PIECES = 400;
let name = "";
let next = -1;
let loading = false;
let looking = false;

export function startLog() {
  keepPartIf(keepChoice);
  document.addEventListener("part", (event) => event.detail.dataset.part === "log" && showOutput());
  document.addEventListener("change", (event) => {
    if (event.target.id === "follow" && event.target.checked) follow();
    if (event.target.id !== "output-choice") return;
    document.getElementById("follow").checked = event.target.value === newest(event.target, event.target.value).value;
    // the list is not replaced while it has the focus
    event.target.blur();
    choose(event.target.value);
  });
  document.addEventListener("tab", (event) => event.detail === "log" && showOutput());
  setInterval(() => visible() && running() && look(), PAUSE);
}

// a task that was removed has no log
const visible = () => document.getElementById("log")?.hidden === false && !document.hidden;
const running = () => document.getElementById("part-head").dataset.running === "yes";

/** Fetches the list as well: there is no event when an output file is created. */
async function look() {
  if (looking) return;
  looking = true;
  try {
    await fetchParts(["log"]);
    await more();
  } catch {
    // no connection: the next interval tries again
  } finally {
    looking = false;
  }
}

/** Returns the option of the newest call: the one shown if it belongs to it, else the transcript, stderr last. */
function newest(select, shown) {
  const own = [...select.options].filter((one) => one.dataset.call === select.options[0].dataset.call);
  const preferred = own.filter((one) => !one.dataset.kind.endsWith("stderr"));
  const from = preferred.length ? preferred : own;
  const isTranscript = (one) => one.dataset.kind.endsWith("transcript");
  return from.find((one) => one.value === shown) ?? from.find(isTranscript) ?? from[0];
}

function follow() {
  const select = document.getElementById("output-choice");
  newest(select, name).selected = true;
  choose(select.value);
}

/** Keeps the choice in the new list; returns true if the old list can stay because it has the same files. */
function keepChoice(old, fresh) {
  const [before, now] = [old, fresh].map((part) => part.querySelector("#output-choice"));
  if (!before || !now) return false;
  const following = old.querySelector("#follow").checked;
  fresh.querySelector("#follow").checked = following;
  const options = new Map([...now.options].map((one) => [one.value, one]));
  const chosen = following ? newest(now, before.value) : options.get(before.value);
  if (chosen) chosen.selected = true;
  const same = before.options.length === options.size && [...before.options].every((one) => options.has(one.value));
  if (!same || before.value !== now.value) return false;
  for (const one of before.options) one.textContent = options.get(one.value).textContent;
  return true;
}

/** Shows the chosen output. */
function showOutput() {
  const select = document.getElementById("output-choice");
  box.hidden = !select;
  if (!select) return;
  // the first of the list is the file that was written last, which may be the raw output
  if (document.getElementById("follow").checked) follow();
  else choose(select.value);
}

function choose(which) {
  const raw = document.getElementById("output-raw");
  raw.href = `${here}/output/${encodeURIComponent(which)}/raw`;
  if (which !== name) {
    name = which;
    next = -1;
    box.replaceChildren();
  }
  if (visible()) more();
}

/** Fetches what is new of the chosen output; starts over if another one was chosen meanwhile. */
async function more() {
  if (loading || !name) return;
  loading = true;
  try {
    for (let again = true; again; ) {
      const requested = name;
      const url = `${here}/output/${encodeURIComponent(requested)}?offset=${next}`;
      const answer = await fetch(url, { headers: { Accept: "application/json" } });
      const piece = answer.ok ? await answer.json() : null;
      if (requested !== name) continue;
      if (!piece) break;
      if (next === -1 && piece.start > 0) add(`… ${piece.start.toLocaleString()} bytes before this: download it to read them\n`);
      add(piece.text);
      again = piece.next > next && piece.next < piece.size && piece.text !== "";
      // redaction can replace the file by a shorter one
      next = piece.next;
      if (!box.childElementCount) box.append(nothingYet());
    }
  } finally {
    loading = false;
  }
}

/** A transcript is empty until the agent has said or done something. */
function nothingYet() {
  const note = document.createElement("p");
  note.className = "muted";
  note.textContent = "Nothing yet.";
  return note;
}

function add(text) {
  if (!text) return;
  box.querySelector(":scope > p")?.remove();
  const down = box.scrollHeight - box.scrollTop - box.clientHeight < 60;
  const pre = document.createElement("pre");
  pre.textContent = text;
  box.append(pre);
  while (box.childElementCount > MAX_PIECES) box.firstElementChild.remove();
  if (down || document.getElementById("follow")?.checked) box.scrollTop = box.scrollHeight;
}
