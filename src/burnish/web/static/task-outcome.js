// After an act: what happened, and a link to the next task that needs the user.
import { fragment, make, undoButton } from "./burnish.js";
import { nextPath } from "./notifications.js";
import { task } from "./task-context.js";

const box = document.getElementById("outcome");

// a run that an act has started: its end is shown in place of its start
let isRunAwaited = false;

/** Shows what happened until the next act or until the page is left; `undo` takes it back, and `tone` is `warn` or `bad`. */
export async function tellOutcome(words, undo = null, isRun = false, tone = "") {
  isRunAwaited = isRun;
  document.dispatchEvent(new Event("decided"));
  const hadFocus = box.contains(document.activeElement);
  box.classList.remove("bad", "warn");
  if (tone) box.classList.add(tone);
  box.replaceChildren(make("strong", { textContent: words }));
  if (undo) box.append(undoButton(undo, () => (box.hidden = true), () => tellOutcome("Undone.")));
  box.hidden = false;
  // the form that was sent is gone: Tab goes on to the next task, not to the top of the page
  if (hadFocus || document.activeElement === document.body) box.focus({ preventScroll: true });
  const next = await nextEntry();
  if (next) box.append(next);
}

// the statuses in which a run leaves a task, with how each is to be taken
const ENDS = {
  verified: ["is approved", ""],
  completed: ["is done", ""],
  waiting_approval: ["waits for your approval", "warn"],
  blocked: ["is blocked", "warn"],
  failed: ["failed", "bad"],
  cancelled: ["was cancelled", ""],
};

// the status in which a run has left the task, until the head of the page shows it, too
let ended = "";
// the head stays as it is while somebody types in it
const HEAD_MS = 3000;
const shownStatus = () => document.getElementById("part-head")?.dataset.status;

/** Replaces "T3 continues." once the run has ended and the page shows it: `status` is the new status of the task. */
export function tellEnd(status) {
  if (!isRunAwaited || !(status in ENDS)) return;
  ended = status;
  if (shownStatus() === status) return showEnd(status);
  setTimeout(() => showEnd(status), HEAD_MS);
}

document.addEventListener("part", ({ detail: part }) => {
  // the parts that came with it are put in place first
  if (part.dataset.part === "head" && part.dataset.status === ended) queueMicrotask(() => showEnd(part.dataset.status));
});

function showEnd(status) {
  if (ended !== status || !isRunAwaited) return;
  ended = "";
  const [words, tone] = ENDS[status];
  tellOutcome(`T${task} ${words}.`, null, false, tone);
}

async function nextEntry() {
  try {
    // where `g n` leads, in the order of the inbox
    const [entry] = JSON.parse(await fragment(nextPath(true)));
    if (!entry) return make("span", { className: "muted", textContent: "Nothing else needs you." });
    const label = `${entry.ready ? "Ready to merge" : "Next that needs you"}: T${entry.id} ${entry.title}`;
    const link = make("a", { className: "button", href: entry.link, textContent: `${label} `, id: "next-entry" });
    link.append(make("kbd", { textContent: "g n" }));
    return link;
  } catch {
    return null;
  }
}
