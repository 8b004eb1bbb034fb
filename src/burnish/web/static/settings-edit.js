// Changes one setting in the user's own file, at its place in a table. The error is shown at the field.
import { api, make, showWords } from "./burnish.js";

const path = `/projects/${encodeURIComponent(document.body.dataset.project)}`;
let reload = async () => {};

/** Values that were changed on this page, by key: what brings the old value back. */
const changes = new Map();

export function whenChanged(load) {
  reload = load;
}

/** Shows the new table. A form that is open in the old one stays open: a person may be typing in it. */
export function replaceTable(place, ...children) {
  const focused = document.activeElement;
  const forms = [...place.querySelectorAll("tr[data-key] .value-form")].map((form) => [form.closest("tr").dataset.key, form]);
  place.replaceChildren(...children);
  for (const [key, form] of forms) {
    place.querySelector(`tr[data-key="${CSS.escape(key)}"] .value-line`)?.parentElement.replaceChildren(form);
    if (form.contains(focused)) focused.focus();
  }
}

export function fillValue(cell, setting, shown) {
  const line = make("div", { className: "value-line" });
  line.append(make("span", { textContent: shown }));
  if (setting.editable) {
    const label = `Change ${setting.key}`;
    const button = make("button", { type: "button", className: "plain", textContent: "Change", ariaLabel: label });
    button.addEventListener("click", () => openForm(cell, setting, shown));
    line.append(button);
  }
  cell.replaceChildren(line);
  const change = changes.get(setting.key);
  if (change) cell.append(changedLine(cell, setting.key, change));
}

function changedLine(cell, key, { before, scope, file, note }) {
  const line = make("div", { className: "small muted", role: "status" });
  const words = before === null ? "Remove it again" : `Back to ${before}`;
  const back = make("button", { type: "button", className: "plain", textContent: words, ariaLabel: `${words}: ${key}` });
  back.addEventListener("click", () => save(cell, key, { value: before, scope, undoes: true }));
  line.append(`Written to your ${file.split("/").pop()}.${note} `, back);
  line.title = file;
  return line;
}

function openForm(cell, setting, shown) {
  const form = make("form", { className: "value-form" });
  const isHere = setting.own_here !== null;
  const value = setting.own_here ?? setting.own ?? (setting.value === null ? "" : shown);
  const input = make("input", { name: "text", value, ariaLabel: setting.key, autocomplete: "off" });
  const scope = make("select", { name: "scope", ariaLabel: "For which projects" });
  scope.append(make("option", { value: "user", textContent: "For all projects" }));
  scope.append(make("option", { value: "project", textContent: "For this project" }));
  scope.value = isHere ? "project" : "user";
  const buttons = [make("button", { className: "primary", textContent: "Save" })];
  if (isHere || setting.own !== null) {
    const unset = make("button", { type: "button", textContent: "Remove" });
    unset.addEventListener("click", () => save(form.parentElement, setting.key, { value: null, scope: scope.value }));
    buttons.push(unset);
  }
  const cancel = make("button", { type: "button", className: "plain", textContent: "Cancel" });
  const leave = () => {
    const place = form.parentElement;
    fillValue(place, setting, shown);
    place.querySelector("button")?.focus();
  };
  cancel.addEventListener("click", leave);
  const error = make("p", { className: "error", role: "alert", hidden: true });
  form.append(input, scope, ...buttons, cancel, error);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    save(form.parentElement, setting.key, { value: input.value, scope: scope.value });
  });
  form.addEventListener("keydown", (event) => event.key === "Escape" && leave());
  cell.replaceChildren(form);
  input.focus();
  input.select();
  form.scrollIntoView({ block: "nearest" });
}

/** Writes the value, or removes it with null. */
async function save(cell, key, { value, scope, undoes = false }) {
  const error = cell.querySelector(".error");
  const where = `${path}/config/${encodeURIComponent(key)}`;
  try {
    const answer = value === null ? await api("DELETE", `${where}?scope=${scope}`) : await api("PUT", where, { text: value, scope });
    const note = value === null || answer.origin.startsWith(answer.file) ? "" : ` ${answer.origin} sets it, too, and counts.`;
    if (undoes) changes.delete(key);
    else changes.set(key, { before: answer.before, scope, file: answer.file, note });
    cell.querySelector(".value-form")?.remove();
    await reload();
    document.querySelector(`tr[data-key="${CSS.escape(key)}"] button`)?.focus();
  } catch (problem) {
    const words = `${problem.message} ${problem.hint ?? ""}`;
    const place = error ?? make("p", { className: "error", role: "alert" });
    showWords(place, words);
    if (!error) return cell.append(place);
    error.hidden = false;
    cell.querySelector("input").setAttribute("aria-invalid", "true");
  }
}
