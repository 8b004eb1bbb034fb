// The inbox: buttons call the API; events of all projects update the list.
import { api, attempt, fragment, gathered, keepFocusOnBack, listen, sure, swap, toast } from "./burnish.js";
import { addKeys } from "./keys.js";

// the words of a merge of all tasks, while it runs
let merging = "";

// the entry that had the focus last, its place, its section, and those below it
let last = { id: "", at: -1, section: "", below: [] };

const renew = gathered(async () => {
  const old = document.getElementById("inbox");
  try {
    const html = await fragment(old.dataset.part);
    const before = last;
    if (swap(old, html)) restoreEntry(before);
    markMerging();
  } catch {
    // the next event tries again
  }
}, { rest: 8 });

/** The focus stays on its entry; where it is gone, or in another section, the one that was below it has the focus. */
function restoreEntry({ id, at, section, below }) {
  const same = document.getElementById(id);
  const hasStayed = same && sectionOf(same) === section;
  const isFree = document.activeElement === document.body || document.activeElement === same;
  if (!isFree || at < 0) return;
  const all = entries();
  const next = below.map((one) => document.getElementById(one)).find(Boolean) ?? all[Math.min(at, all.length - 1)];
  const entry = hasStayed ? same : next;
  entry?.focus({ preventScroll: true });
  entry?.scrollIntoView({ block: "nearest" });
}

const sectionOf = (entry) => entry.closest("ul").previousElementSibling.textContent.replace(/[^\p{L}].*$/u, "");

document.addEventListener("focusin", ({ target }) => {
  const entry = target.closest(".entry");
  const all = entries();
  const at = all.indexOf(entry);
  if (entry) last = { id: entry.id, at, section: sectionOf(entry), below: all.slice(at + 1).map((one) => one.id) };
  // a dialog is about the entry from which it was opened
  else if (!target.closest("dialog")) last = { id: "", at: -1, section: "", below: [] };
});

for (const [project, since] of Object.entries(JSON.parse(document.body.dataset.since))) {
  listen(project, since, () => renew("all"), () => renew("all"));
}

document.getElementById("inbox-project")?.addEventListener("change", (event) => {
  location.search = event.target.value ? `of=${encodeURIComponent(event.target.value)}` : "";
});

document.addEventListener("click", (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) return copyCommand(copy);
  const answer = event.target.closest("[data-do]");
  if (answer) return act(answer);
  if (event.target.closest("#merge-all")) return mergeAll(event.target.closest("#merge-all"));
});

async function copyCommand(button) {
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy command"), 1500);
  } catch {
    toast("The browser does not allow copying.", { hint: button.dataset.copy });
  }
}

async function act(button) {
  const { do: path, what } = button.dataset;
  const body = await requestBody(button);
  if (body === null) return;
  button.disabled = true;
  const succeeded = await attempt(async () => {
    await api("POST", path, body);
    toast(what, { hint: path.endsWith("/merge") ? "Merged." : "Running in the background." });
  });
  if (!succeeded) button.disabled = false;
  renew("all");
}

/** Asks for confirmation or a note where needed; returns the body of the request, or null if cancelled. */
async function requestBody(button) {
  const { body, sure: question, note, what } = button.dataset;
  const plain = JSON.parse(body);
  if (!question && !note) return plain;
  const yes = note ? "Improve" : button.textContent;
  const text = question || "Runs one more cycle and a review.";
  const reply = await sure(question ? `${what.replace(": ", " ")}?` : what, text, { yes, note: note || null });
  if (reply === null || !note) return reply === null ? null : plain;
  if (reply.trim()) return { ...plain, note: reply };
  toast("Not started: the note is empty.", { bad: true });
  return null;
}

/** The button of a list that was fetched meanwhile is a new one. */
function markMerging() {
  const button = document.getElementById("merge-all");
  if (!button) return;
  button.disabled = Boolean(merging);
  button.toggleAttribute("aria-busy", Boolean(merging));
}

async function mergeAll(button) {
  if (merging) return toast(merging, { hint: "Its result is shown here." });
  const number = Number(button.dataset.number);
  const words = "Merges each approved commit, one after the other. Tasks that cannot be merged are skipped, with the reason. " +
    "Each merge moves the target: where checks cannot test the others with it, they are reviewed again, " +
    "and wait for you if you decide after each review.";
  const title = number === 1 ? "Merge the one verified task?" : `Merge all ${number} verified tasks?`;
  if ((await sure(title, words, { yes: "Merge all" })) === null) return;
  const merged = [];
  merging = `Merging ${number === 1 ? "one task" : `${number} tasks`}…`;
  markMerging();
  const slow = [merging, "If the target has moved, each is checked or reviewed again first."];
  const names = new Map([...document.querySelectorAll("#inbox-project option")].map((one) => [one.value, `${one.textContent} `]));
  for (const project of JSON.parse(button.dataset.projects)) {
    await attempt(async () => {
      const report = await api("POST", `/projects/${encodeURIComponent(project)}/merge-verified`, {}, { slow });
      const name = names.get(project) ?? "";
      merged.push(...report.merged.map((one) => `${name}T${one.id} into ${one.into}`));
      tellLeft(report.left, name, project);
    });
  }
  // Enter goes on to the first task that was not merged
  if (document.activeElement === document.body || document.activeElement === button) document.querySelector("#toasts a")?.focus();
  // it may have taken minutes, and nobody may have looked
  if (merged.length) toast(`Merged: ${merged.join(", ")}`, { closable: true });
  merging = "";
  markMerging();
  renew("all");
}

/** What was not merged: reviewed again, so that it waits for another decision, or skipped. */
function tellLeft(left, name, project) {
  const waiting = left.filter((one) => one.status === "waiting_approval");
  const numbers = waiting.map((one) => `${name}T${one.id}`).join(", ");
  const who = waiting.length === 1 ? `${numbers} waits` : `${waiting.length} tasks wait`;
  const words = `${who} for your decision again.`;
  const why = "The target has moved: look at both together.";
  const hint = waiting.length > 1 ? `${numbers}. ${why}` : why;
  if (waiting.length) toast(words, { hint, closable: true, link: pageOf(waiting[0], name, project) });
  tellSkipped(left.filter((one) => !waiting.includes(one)), name, project);
}

/** One message for each task, or one for all of them: many would hide the list. */
function tellSkipped(skipped, name, project) {
  // the number is said once, and what a terminal would do next is on the page of the task
  const why = (one) => one.why.replace(/^Task \d+ /, "it ");
  const hint = (one) => (one.conflicts.length || /\bburnish /.test(one.hint) ? "Its page has the next step." : one.hint);
  if (skipped.length < 4) {
    for (const one of skipped) {
      toast(`${name}T${one.id} was skipped: ${why(one)}`, { hint: hint(one), bad: true, closable: true, link: pageOf(one, name, project) });
    }
    return;
  }
  const numbers = skipped.map((one) => `T${one.id}`).join(", ");
  const [first] = skipped;
  toast(`${skipped.length} tasks were skipped: ${numbers}`, {
    hint: `T${first.id}: ${why(first)}`, bad: true, closable: true, link: pageOf(first, name, project),
  });
}

/** A link to the task that was not merged. */
const pageOf = ({ id }, name, project) => ({ href: `/p/${encodeURIComponent(project)}/t/${id}`, words: `Open ${name}T${id}` });

// keys: the focused entry is the one that they are about

const entries = () => [...document.querySelectorAll(".entry")];
const current = () => document.activeElement?.closest(".entry");

function walk(by) {
  const all = entries();
  const at = all.indexOf(current());
  const next = all[at < 0 ? 0 : Math.min(Math.max(at + by, 0), all.length - 1)];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest" });
}

addKeys("Inbox", [
  { keys: ["j", "ArrowDown"], words: "next entry", run: () => walk(1) },
  { keys: ["k", "ArrowUp"], words: "entry before", run: () => walk(-1) },
  { keys: ["Enter", "o"], words: "open the task, or the first one", when: (event) => event.target.matches(".entry, body"),
    run: () => (current() ?? entries()[0])?.querySelector("h3 a")?.click() },
  { keys: ["a"], words: "do what the button of the entry says; j chooses one", when: current, careful: true, needs: "reviewer",
    run: () => [...current().querySelectorAll("[id^=do-]")].find((one) => one.offsetParent)?.click() },
  { keys: ["M"], words: "merge all verified tasks", when: () => document.getElementById("merge-all"), needs: "maintainer",
    run: () => mergeAll(document.getElementById("merge-all")) },
  { keys: ["c"], words: "copy the command of the chosen entry", when: current, run: () => current().querySelector("[data-copy]")?.click() },
]);

keepFocusOnBack(".entry");
