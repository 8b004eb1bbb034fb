// Updates the statistics while tasks run; open tables stay open.
import { fragment, listen, swap } from "./burnish.js";

const PAUSE = 3000;
let timer = null;

async function renew() {
  timer = null;
  const old = document.getElementById("stats");
  const open = [...old.querySelectorAll("details[open]")].map((one) => one.id);
  const holder = document.createElement("template");
  try {
    holder.innerHTML = await fragment(old.dataset.part);
  } catch {
    return; // the next event tries again
  }
  for (const id of open) holder.content.getElementById(id)?.setAttribute("open", "");
  swap(old, holder.innerHTML);
}

listen(document.body.dataset.project, Number(document.body.dataset.since), () => {
  timer ??= setTimeout(renew, PAUSE);
});
