// The list of projects, looked at again every few seconds while somebody looks at it.
import { fragment, grow, make, swap } from "./burnish.js";

setInterval(async () => {
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
}, 5000);
