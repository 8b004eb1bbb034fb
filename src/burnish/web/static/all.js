// The board of all projects: fetched again after events of any project.
import { fragment, gathered, listen, swap, tick } from "./burnish.js";
import { addKeys } from "./keys.js";

const renew = gathered(async () => {
  try {
    const scrolls = [...document.querySelectorAll(".cards")].map((list) => list.scrollTop);
    swap(document.getElementById("all-board"), await fragment("/all/part"));
    [...document.querySelectorAll(".cards")].forEach((list, at) => (list.scrollTop = scrolls[at]));
    tick();
  } catch {
    // the next event tries again
  }
}, { first: 100, storm: 2000, rest: 8 });

for (const [project, since] of Object.entries(JSON.parse(document.body.dataset.since))) {
  listen(project, since, () => renew("all"), () => renew("all"));
}

const titles = () => [...document.querySelectorAll(".card .title")];

function walk(by) {
  const all = titles();
  const at = all.indexOf(document.activeElement);
  all[at < 0 ? 0 : Math.min(Math.max(at + by, 0), all.length - 1)]?.focus();
}

addKeys("All projects", [
  { keys: ["j", "ArrowDown"], words: "next task", run: () => walk(1) },
  { keys: ["k", "ArrowUp"], words: "task before", run: () => walk(-1) },
]);
