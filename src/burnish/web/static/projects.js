// The list of projects: updated every few seconds while the page is visible.
import { addKeys } from "./keys.js";
import { api, attempt, fragment, grow, make, showWords, swap, toast } from "./burnish.js";

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

const links = () => [...document.querySelectorAll("#projects > li:not([hidden]) > a")];

function walk(by) {
  const all = links();
  const at = all.indexOf(document.activeElement?.closest("li")?.querySelector("a"));
  all[at < 0 ? 0 : Math.min(Math.max(at + by, 0), all.length - 1)]?.focus();
}

addKeys("Projects", [
  { keys: ["j", "ArrowDown"], words: "next project", run: () => walk(1) },
  { keys: ["k", "ArrowUp"], words: "project before", run: () => walk(-1) },
  // a link opens by itself
  { keys: ["Enter"], words: "open the project", when: () => false, run: () => {} },
]);

/** Reloads the page when there is a first project. */
async function reloadIfAny() {
  try {
    const answer = await fetch("/api/v1/projects", { headers: { Accept: "application/json" } });
    if (answer.ok && (await answer.json()).projects.length) location.reload();
  } catch {
    // no connection: keep the old list
  }
}

const form = document.getElementById("add-project");
form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const error = form.querySelector(".error");
  const button = form.querySelector("button");
  error.hidden = true;
  button.disabled = true;
  try {
    showAdded(await api("POST", "/projects", { path: form.elements.path.value }));
    form.reset();
  } catch (problem) {
    showWords(error, `${problem.message} ${problem.hint ?? ""}`);
    error.hidden = false;
    form.elements.path.focus();
  } finally {
    button.disabled = false;
  }
});

/** The palette leads here. */
function toForm() {
  if (location.hash !== "#add" || !form) return;
  form.closest("details")?.setAttribute("open", "");
  form.elements.path.focus();
}
addEventListener("hashchange", toForm);
toForm();

function showAdded({ key, name, is_new: isNew, trusted, trust_command: command }) {
  const box = document.getElementById("added");
  const link = make("a", { href: `/p/${encodeURIComponent(key)}`, textContent: name });
  box.replaceChildren(make("strong", { textContent: isNew ? "Added " : "Already known: " }), link, ".");
  if (!trusted) {
    box.append(" It is not trusted: its own settings are not used. To trust what it has run, read it, then type in a terminal: ");
    box.append(make("code", { textContent: command }));
  }
  box.hidden = false;
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-forget]");
  if (!button) return;
  const { forget: key, name, root } = button.dataset;
  button.disabled = true;
  const isForgotten = await attempt(() => api("DELETE", `/projects/${encodeURIComponent(key)}`));
  button.disabled = false;
  if (!isForgotten) return;
  button.closest("li").hidden = true;
  // it names the project that was added last
  document.getElementById("added").hidden = true;
  const undo = async () => {
    await api("POST", "/projects", { path: root });
    location.reload();
  };
  toast(`${name} is off the lists.`, { hint: "Its events, branches and files are kept.", undo });
});
