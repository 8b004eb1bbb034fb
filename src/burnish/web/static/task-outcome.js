// After an act: what happened, and a link to the next task that needs the user.
import { api, make, undoButton } from "./burnish.js";
import { project, task } from "./task-context.js";

const box = document.getElementById("outcome");

/** Shows what happened until the next act or until the page is left; `undo` takes it back. */
export async function tellOutcome(words, undo = null) {
  box.replaceChildren(make("strong", { textContent: words }));
  if (undo) box.append(undoButton(undo, () => (box.hidden = true)));
  box.hidden = false;
  const next = await nextEntry();
  if (next) box.append(next);
}

async function nextEntry() {
  try {
    const { inbox } = await api("GET", "/inbox");
    const others = inbox.filter((entry) => entry.project !== project || entry.id !== task);
    const entry = others.find((one) => one.kind !== "ready") ?? others[0];
    if (!entry) return make("span", { className: "muted", textContent: "Nothing else needs you." });
    const label = `Next that needs you: T${entry.id} ${entry.title}`;
    const link = make("a", { className: "button", href: `/p/${entry.project}/t/${entry.id}`, textContent: `${label} `, id: "next-entry" });
    link.append(make("kbd", { textContent: "g n" }));
    return link;
  } catch {
    return null;
  }
}
