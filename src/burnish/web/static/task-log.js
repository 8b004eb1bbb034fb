// What agents and checks print, as it comes: by pieces, from where the last one ended.
import { fetchParts, here } from "./task.js";

const box = document.getElementById("output");
const PAUSE = 1000;
// so much is kept on the page; what is older can be downloaded
const MOST_PIECES = 400;
let name = "";
let next = -1;
let loading = false;
let looking = false;

export function startLog() {
  document.addEventListener("change", (event) => {
    if (event.target.id === "follow" && event.target.checked) follow();
    if (event.target.id !== "output-choice") return;
    document.getElementById("follow").checked = event.target.value === newest(event.target, event.target.value).value;
    // while it has the focus, the list is not made anew
    event.target.blur();
    choose(event.target.value);
  });
  document.addEventListener("tab", (event) => event.detail === "log" && showOutput());
  setInterval(() => visible() && running() && look(), PAUSE);
}

const visible = () => !document.getElementById("log").hidden && !document.hidden;
const running = () => document.getElementById("part-head").dataset.running === "yes";

/** A file is there some time after its phase has begun, and that is no event: the list is asked for as well. */
async function look() {
  if (looking) return;
  looking = true;
  try {
    await fetchParts(["log"]);
    await more();
  } catch {
    // the line is cut: the next second tries again
  } finally {
    looking = false;
  }
}

/** Of the newest call, what is shown already; its complaints only as long as there is nothing else. */
function newest(select, shown) {
  const own = [...select.options].filter((one) => one.dataset.call === select.options[0].dataset.call);
  const words = own.filter((one) => !one.dataset.kind.endsWith("stderr"));
  const from = words.length ? words : own;
  return from.find((one) => one.value === shown) ?? from[0];
}

function follow() {
  const select = document.getElementById("output-choice");
  newest(select, name).selected = true;
  choose(select.value);
}

/** The choice of a person in the new list; true if the old list can stay, for it names the same files. */
export function keepChoice(old, fresh) {
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

/** The list may be new: stay with what was chosen, or follow to the newest. */
export function showOutput() {
  const select = document.getElementById("output-choice");
  box.hidden = !select;
  if (select) choose(select.value);
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

async function more() {
  if (loading || !name) return;
  loading = true;
  try {
    const asked = name;
    for (let again = true; again; ) {
      const answer = await fetch(`${here}/output/${encodeURIComponent(asked)}?offset=${next}`, { headers: { Accept: "application/json" } });
      if (!answer.ok || asked !== name) break;
      const piece = await answer.json();
      if (next === -1 && piece.start > 0) add(`… ${piece.start.toLocaleString()} bytes before this: download it to read them\n`);
      add(piece.text);
      again = piece.next > next && piece.next < piece.size && piece.text !== "";
      // it was put in place anew, without its secrets, and is shorter now
      next = piece.next;
    }
  } finally {
    loading = false;
  }
}

function add(text) {
  if (!text) return;
  const down = box.scrollHeight - box.scrollTop - box.clientHeight < 60;
  const pre = document.createElement("pre");
  pre.textContent = text;
  box.append(pre);
  while (box.childElementCount > MOST_PIECES) box.firstElementChild.remove();
  if (down || document.getElementById("follow")?.checked) box.scrollTop = box.scrollHeight;
}
