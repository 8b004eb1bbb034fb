// The list of projects: updated every few seconds while the page is visible.
import { fragment, grow, make, swap } from "./burnish.js";

setInterval(async () => {
  if (document.getElementById("no-projects") && !document.hidden) return reloadIfAny();
  const list = document.getElementById("projects");
  if (!list || document.hidden) return;
  try {
    const page = make("template");
    page.innerHTML = await fragment("/projects");
    const fresh = page.content.getElementById("projects");
    if (!fresh) return;
    swap(list, fresh.outerHTML);
    grow(document);
  } catch {
    // no connection: keep the old list
  }
}, 3000);

/** Reloads the page when there is a first project. */
async function reloadIfAny() {
  try {
    const answer = await fetch("/api/v1/projects", { headers: { Accept: "application/json" } });
    if (answer.ok && (await answer.json()).projects.length) location.reload();
  } catch {
    // no connection: keep the old list
  }
}
