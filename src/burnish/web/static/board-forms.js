// Forms to add, edit and run tasks: sent to the API as JSON; errors are shown beside the button.
import { api, attempt, fragment, showWords, sure, toast } from "./burnish.js";

const dialog = document.getElementById("form");
const runDialog = document.getElementById("run-form");
const autoDialog = document.getElementById("auto-form");
let project, look, lookAtHead;

export function startForms(given) {
  ({ project, look, lookAtHead } = given);
  document.getElementById("add").addEventListener("click", () => open(""));
  document.querySelector("[data-add]").addEventListener("click", () => open(""));
  document.addEventListener("edit-task", (event) => open(`/${event.detail}`));
  document.getElementById("run-all").addEventListener("click", () => {
    runDialog.returnValue = "";
    runDialog.showModal();
  });
  runDialog.addEventListener("close", runAll);
  document.getElementById("auto").addEventListener("click", switchAuto);
  autoDialog.addEventListener("close", startAuto);
  document.getElementById("stop-all").addEventListener("click", stopAll);
  dialog.addEventListener("submit", send);
  dialog.addEventListener("input", saveDraft);
  dialog.addEventListener("click", (event) => event.target.closest("[data-discard]") && discardDraft());
  dialog.addEventListener("change", (event) => event.target.name === "type" && hideFields());
}

async function open(which) {
  if (dialog.open) return;
  await attempt(async () => {
    // keeps text that was typed and not sent
    const draft = dialog.dataset.which === which && dialog.querySelector("form[data-touched]");
    if (!draft) dialog.innerHTML = await fragment(`/p/${project}/form${which}`);
    dialog.dataset.which = which;
    if (!draft) restoreDraft();
    if (!dialog.open) dialog.showModal();
    dialog.querySelector("[name=title]").focus();
  });
}

// a draft survives a reload, until it is sent or discarded

const draftKey = () => `burnish-draft:${project}:${dialog.dataset.which}`;
const fieldsOf = (form) => [...form.elements].filter((field) => field.name);

function saveDraft(event) {
  const form = event.target.form;
  if (!form) return;
  const state = fieldsOf(form).map((field) => (field.type === "checkbox" ? field.checked : field.value));
  sessionStorage.setItem(draftKey(), JSON.stringify(state));
}

function restoreDraft() {
  const form = dialog.querySelector("form");
  const state = JSON.parse(sessionStorage.getItem(draftKey()) ?? "null");
  const fields = fieldsOf(form);
  if (state?.length !== fields.length) return;
  fields.forEach((field, at) => (field.type === "checkbox" ? (field.checked = state[at]) : (field.value = state[at])));
  form.setAttribute("data-touched", "");
  form.querySelector("[data-draft]").hidden = false;
  if (fields.some((field) => changed(field) && field.closest("details"))) form.querySelector("details").open = true;
  if (form.elements.type) hideFields();
}

function discardDraft() {
  sessionStorage.removeItem(draftKey());
  dialog.querySelector("form").removeAttribute("data-touched");
  dialog.close();
  open(dialog.dataset.which);
}

/** Hides fields that the chosen kind of task does not have. */
function hideFields() {
  const kind = dialog.querySelector("[name=type]").value;
  for (const one of dialog.querySelectorAll("[data-only]")) one.hidden = !one.dataset.only.split(" ").includes(kind);
}

const READ = {
  lines: (field) => field.value.split("\n").map((line) => line.trim()).filter(Boolean),
  ids: (field) => field.value.split(/[\s,]+/).filter(Boolean),
  id: (field) => field.value.trim() || null,
  number: (field) => (field.value.trim() === "" ? null : Number(field.value)),
  word: (field) => field.value.trim() || null,
  choice: (field) => (field.value === "" ? null : field.value === "true"),
  yes: (field) => field.checked,
};

const changed = (field) =>
  field.type === "checkbox"
    ? field.checked !== field.defaultChecked
    : field.tagName === "SELECT"
      ? [...field.options].some((option) => option.selected !== option.defaultSelected)
      : field.value !== field.defaultValue;

/** The field as it was when the form was opened. */
function before(field) {
  const chosen = field.tagName === "SELECT" ? [...field.options].find((option) => option.defaultSelected) ?? field.options[0] : null;
  return { value: chosen ? chosen.value : field.defaultValue, checked: field.defaultChecked };
}

/** Returns the changed fields only: as they are, or with `was` as they were. */
function values(form, { was = false } = {}) {
  const fields = {};
  for (const field of form.elements) {
    if (!field.name || field.name === "tick" || field.closest("[hidden]") || !changed(field)) continue;
    fields[field.name] = (READ[field.dataset.as] ?? ((one) => one.value))(was ? before(field) : field);
  }
  const ticks = [...form.querySelectorAll("[name=tick]")].filter(changed);
  const numbers = (done) => ticks.filter((box) => (box.checked !== was) === done).map((box) => Number(box.value));
  if (ticks.length) Object.assign(fields, { tick: numbers(true), untick: numbers(false) });
  return fields;
}

async function send(event) {
  event.preventDefault();
  const form = event.target;
  const id = form.dataset.task;
  const fields = values(form);
  const old = values(form, { was: true });
  const button = form.querySelector("button.primary");
  if (id && !Object.keys(fields).length) return dialog.close();
  if (!form.elements.title.value.trim()) return showError(form, { message: "The title is empty.", hint: "" });
  button.disabled = true;
  try {
    const path = `/projects/${project}/tasks`;
    const task = id ? await api("PATCH", `${path}/${id}`, fields) : await api("POST", path, fields);
    const start = form.querySelector("#start-now")?.checked;
    form.removeAttribute("data-touched");
    sessionStorage.removeItem(draftKey());
    dialog.close();
    look(task.id);
    if (start) await attempt(() => api("POST", `${path}/${task.id}/run`, {}));
    else if (!id) toast(`T${task.id} was added to the backlog.`);
    else toast(`T${id} was changed.`, { hint: task.title, undo: () => api("PATCH", `${path}/${id}`, old).then(() => look(id)) });
    focusCard(task.id);
  } catch (error) {
    showError(form, error);
  } finally {
    button.disabled = false;
  }
}

function showError(form, error) {
  const place = form.querySelector(".error");
  showWords(place, `${error.message} ${error.hint ?? ""}`);
  place.hidden = false;
  place.scrollIntoView({ block: "nearest" });
}

/** Focuses the card of a task as soon as it is on the board. */
function focusCard(id, tries = 20) {
  const card = document.getElementById(`t${id}`);
  if (card) card.focus();
  else if (tries) setTimeout(() => focusCard(id, tries - 1), 100);
}

async function stopAll() {
  const words = "Running agents are stopped and can be resumed later. Queued tasks stay in the backlog.";
  if ((await sure("Stop all runs of this project?", words, { yes: "Stop all" })) === null) return;
  await attempt(() => api("POST", `/projects/${project}/stop`, {}));
  lookAtHead();
  // agents take some seconds to stop
  for (const later of [1500, 4000]) setTimeout(lookAtHead, later);
}

async function runAll() {
  if (runDialog.returnValue !== "go") return;
  const form = runDialog.querySelector("form");
  const options = { all: true, jobs: Number(form.jobs.value) || 1 };
  if (form.budget.value) options.budget = Number(form.budget.value);
  if (form.hitl.checked) options.hitl = true;
  await attempt(async () => {
    const { planned } = await api("POST", `/projects/${project}/run`, options);
    toast(planned.length === 1 ? "1 task started." : `${planned.length} tasks started, ${options.jobs} in parallel.`);
    look(...planned);
  });
}

/** Asks for the options before Auto is switched on; switching it off ends nothing that is at work. */
async function switchAuto(event) {
  if (event.currentTarget.getAttribute("aria-checked") !== "true") {
    autoDialog.returnValue = "";
    autoDialog.showModal();
    return;
  }
  await attempt(async () => {
    await api("POST", `/projects/${project}/auto`, { on: false });
    toast("Auto is off. Running tasks continue to their end.");
  });
  lookAtHead();
}

async function startAuto() {
  if (autoDialog.returnValue !== "go") return;
  const form = autoDialog.querySelector("form");
  const options = { on: true, jobs: Number(form.jobs.value) || 1 };
  if (form.budget.value) options.budget = Number(form.budget.value);
  if (form.until.value) options.until = form.until.value;
  await attempt(async () => {
    await api("POST", `/projects/${project}/auto`, options);
    toast(form.until.value ? `Auto is on until ${form.until.value}.` : "Auto is on.");
  });
  lookAtHead();
}
