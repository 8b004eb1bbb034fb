// Settings with their sources, doctor and cleaning: each part is fetched on its own, because some take seconds.
import { api, attempt, make, sure, toast } from "./burnish.js";
import { drawBudgets } from "./settings-budgets.js";
import { fillValue, replaceTable, whenChanged } from "./settings-edit.js";
import { addKeys } from "./keys.js";

const { project } = document.body.dataset;
const path = `/projects/${encodeURIComponent(project)}`;
const place = (id) => document.getElementById(id);
let values = [];

const text = (value) => (value === null ? "–" : typeof value === "string" ? value : JSON.stringify(value));

function table(rows) {
  const made = make("table", { className: "values" });
  const head = made.createTHead().insertRow();
  for (const title of ["Setting", "Value", "Source"]) head.append(make("th", { scope: "col", textContent: title }));
  const body = made.createTBody();
  for (const setting of rows) fillRow(body.insertRow(), setting);
  return made;
}

function fillRow(row, setting) {
  const { key, value, origin } = setting;
  row.className = origin === "default" ? "" : "is-set";
  row.dataset.key = key;
  row.insertCell().append(make("code", { textContent: key }));
  fillValue(row.insertCell(), setting, text(value));
  row.insertCell().append(make("span", { className: "muted", textContent: origin }));
}

const note = (words) => make("p", { className: "muted", textContent: words });

function drawSettings() {
  const words = place("search").value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const own = place("only-own").checked;
  const rows = values.filter((one) => (!own || one.origin !== "default") && words.every((word) => one.key.includes(word)));
  replaceTable(place("settings"), rows.length ? table(rows) : note("No setting matches."));
}

async function loadSettings() {
  const { settings, sources } = await api("GET", `${path}/config`);
  values = settings;
  place("sources").replaceChildren(
    ...sources.map((one) => make("li", { textContent: `${one.name}: ${one.path}${one.used ? "" : " (not used)"}` })),
  );
  attempt(() => drawBudgets(place("budgets"), path, settings));
  drawSettings();
}

const TONES = { ok: "good", weak: "warn", broken: "bad" };

async function loadDoctor() {
  place("doctor").replaceChildren(note("Checking this machine and the repository…"));
  const { can_run: canRun, signs } = await api("GET", `${path}/doctor`);
  const list = make("ul", { className: "signs" });
  // what needs attention first
  const order = (one) => ["ok", "weak"].indexOf(one.state);
  signs.sort((one, other) => (order(one) < 0 ? -1 : order(other) < 0 ? 1 : order(other) - order(one)));
  for (const sign of signs) {
    const words = make("span", { className: "words" });
    words.append(...withCode(sign.what));
    if (sign.remedy) {
      const remedy = make("span", { className: "muted remedy" });
      remedy.append(...withCode(sign.remedy));
      words.append(remedy);
    }
    const row = make("li");
    row.append(make("span", { className: `badge ${TONES[sign.state] ?? "bad"}`, textContent: sign.state }), sign.name, words);
    list.append(row);
  }
  place("doctor").replaceChildren(note(canRun ? "Tasks can be run." : "Tasks cannot be run: see below."), list);
}

/** `burnish init` between backticks as code. */
const withCode = (text) => text.split("`").map((part, at) => (at % 2 ? make("code", { textContent: part }) : part));

async function loadCleaning() {
  const { chosen } = await api("GET", `${path}/clean?all_completed=true`);
  place("clean").hidden = !chosen.length;
  const count = chosen.length === 1 ? "1 finished task has" : `${chosen.length} finished tasks have`;
  const words = `${count} a workspace that can be removed. Unsaved work is saved first; branches are kept.`;
  place("cleaning").replaceChildren(note(chosen.length ? words : "Nothing to clean up."));
}

place("clean").addEventListener("click", async () => {
  const words = "Removes their workspaces. Branches and records are kept.";
  if ((await sure("Clean up finished tasks?", words, { yes: "Clean up" })) === null) return;
  await attempt(async () => {
    const { removed } = await api("POST", `${path}/clean`, {});
    toast(removed.length === 1 ? "1 workspace was removed." : `${removed.length} workspaces were removed.`);
  });
  attempt(loadCleaning);
});

place("forget").addEventListener("click", async (event) => {
  const { name } = event.currentTarget.dataset;
  const words = "It is taken off the lists; its events, branches and files are kept. A burnish command in its folder brings it back.";
  if ((await sure(`Forget ${name}?`, words, { yes: "Forget", danger: true })) === null) return;
  await attempt(async () => {
    await api("DELETE", path);
    location.href = "/projects";
  });
});

whenChanged(loadSettings);
place("search").addEventListener("input", drawSettings);
place("only-own").addEventListener("change", drawSettings);
place("doctor-again").addEventListener("click", () => attempt(loadDoctor));
addKeys("Settings", [{ keys: ["/"], words: "search settings", run: () => place("search").focus() }]);
attempt(loadSettings);
attempt(loadCleaning);
attempt(loadDoctor);
