// What agents and checks print, as it comes: by pieces, from where the last one ended.
import { here } from "./task.js";

const box = document.getElementById("output");
const PAUSE = 1000;
// so much is kept on the page; what is older can be downloaded
const MOST_PIECES = 400;
let name = "";
let next = -1;
let loading = false;

export function startLog() {
  document.addEventListener("change", (event) => {
    if (event.target.id !== "output-choice") return;
    document.getElementById("follow").checked = event.target.selectedIndex === 0;
    // while it has the focus, the list is not made anew
    event.target.blur();
    choose(event.target.value);
  });
  document.addEventListener("tab", (event) => event.detail === "log" && showOutput());
  setInterval(() => visible() && running() && more(), PAUSE);
}

const visible = () => !document.getElementById("log").hidden && !document.hidden;
const running = () => document.getElementById("part-head").dataset.running === "yes";

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
