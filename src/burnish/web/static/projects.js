// The list of projects, looked at again every few seconds while somebody looks at it.
import { fragment, grow, make, swap } from "./burnish.js";

setInterval(async () => {
  if (document.getElementById("no-projects") && !document.hidden) return first();
  const list = document.getElementById("projects");
  if (!list || document.hidden) return;
  try {
    const page = make("template");
    page.innerHTML = await fragment("/");
    const fresh = page.content.getElementById("projects");
    if (!fresh) return;
    swap(list, fresh.outerHTML);
    grow(document);
  } catch {
    // the server is away: what is shown stays
  }
}, 3000);

/** The first project leads to its own board. */
async function first() {
  try {
    const answer = await fetch("/api/v1/projects", { headers: { Accept: "application/json" } });
    if (answer.ok && (await answer.json()).projects.length) location.reload();
  } catch {
    // the server is away: what is shown stays
  }
}
