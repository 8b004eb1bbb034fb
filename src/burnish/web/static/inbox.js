// The inbox: answers go to the API, the list follows what happens in every project.
import { api, attempt, fragment, gathered, listen, sure, swap, toast } from "./burnish.js";

const renew = gathered(async () => {
  const old = document.getElementById("inbox");
  try {
    swap(old, await fragment(old.dataset.part));
  } catch {
    // the next event tries again
  }
});

for (const [project, since] of Object.entries(JSON.parse(document.body.dataset.since))) {
  listen(project, since, () => renew("all"), () => renew("all"));
}

document.getElementById("inbox-project")?.addEventListener("change", (event) => {
  location.search = event.target.value ? `of=${encodeURIComponent(event.target.value)}` : "";
});

document.addEventListener("click", (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) return take(copy);
  const answer = event.target.closest("[data-do]");
  if (answer) return act(answer);
  if (event.target.closest("#merge-all")) return mergeAll(event.target.closest("#merge-all"));
});

async function take(button) {
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  } catch {
    const range = document.createRange();
    range.selectNodeContents(button.previousElementSibling);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    toast("Selected: press Ctrl+C to copy.");
  }
}

async function act(button) {
  const { do: path, what } = button.dataset;
  const body = await asked(button);
  if (body === null) return;
  button.disabled = true;
  const done = await attempt(async () => {
    await api("POST", path, body);
    toast(what, { hint: path.endsWith("/merge") ? "Merged." : "It goes on in the background." });
  });
  if (!done) button.disabled = false;
  renew("all");
}

/** What is sent, after the person was asked where that is needed; null: not now. */
async function asked(button) {
  const { body, sure: words, note, what } = button.dataset;
  const plain = JSON.parse(body);
  if (!words && !note) return plain;
  const yes = note ? "Improve" : button.textContent;
  const said = await sure(`${what}${words ? "?" : ""}`, words || "One more round follows, and a review.", { yes, note: note || null });
  if (said === null || !note) return said === null ? null : plain;
  if (said.trim()) return { ...plain, note: said };
  toast("Nothing was said, so nothing was started.", { bad: true });
  return null;
}

async function mergeAll(button) {
  const number = Number(button.dataset.number);
  const words = "Each as it was approved, one after the other. What does not fit any more is left, and says why.";
  const title = number === 1 ? "Merge the one verified task?" : `Merge all ${number} verified tasks?`;
  if ((await sure(title, words, { yes: "Merge all" })) === null) return;
  button.disabled = true;
  let merged = 0;
  for (const project of JSON.parse(button.dataset.projects)) {
    await attempt(async () => {
      const report = await api("POST", `/projects/${encodeURIComponent(project)}/merge-verified`, {});
      merged += report.merged.length;
      for (const one of report.left) toast(`T${one.id} was left: ${one.why}`, { hint: one.hint, bad: true });
    });
  }
  if (merged) toast(`${merged} merged.`);
  button.disabled = false;
  renew("all");
}
