// Prompts: the API checks and saves them. A form is replaced only after an action of the user.
import { api, attempt, fragment, make, showWords, sure, toast } from "./burnish.js";

const { project, where } = document.body.dataset;
const base = `/projects/${encodeURIComponent(project)}/prompts`;
const cards = () => [...document.querySelectorAll("form.prompt")];
const field = (card) => card.querySelector("textarea");

/** True if the text differs from the saved one. */
function isUnsaved(card) {
  return card.dataset.on === "yes" && field(card).value !== field(card).defaultValue;
}

function showState(card) {
  const text = field(card).value;
  const fresh = card.dataset.own !== "yes";
  card.querySelector("[data-count]").textContent = `${text.length.toLocaleString("en")} characters`;
  card.querySelector("[data-save]").disabled = !(isUnsaved(card) || fresh);
  card.querySelector("[data-unsaved]").hidden = !(card.dataset.on === "yes" && (isUnsaved(card) || fresh));
}

function showError(card, error) {
  const place = card.querySelector(".save-error");
  place.hidden = !error;
  showWords(place, error ? `${error.message} ${error.hint}` : "");
}

/** Replaces a form by the server's current version. */
async function renew(card) {
  const { name } = card.dataset;
  const html = await fragment(`/p/${encodeURIComponent(project)}/prompts/part/${encodeURIComponent(name)}?where=${where}`);
  const made = document.createRange().createContextualFragment(html).firstElementChild;
  const focus = card.contains(document.activeElement) ? document.activeElement.id : "";
  const task = card.querySelector("select")?.value;
  card.replaceWith(made);
  if (task && made.querySelector("select")) made.querySelector("select").value = task;
  if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
  showState(made);
}

async function put(card, body, message) {
  showError(card, null);
  try {
    await api("PUT", `${base}/${card.dataset.name}`, { where, ...body });
  } catch (error) {
    showError(card, error);
    return false;
  }
  toast(message);
  await attempt(() => renew(card));
  return true;
}

async function save(card) {
  const body = { text: field(card).value, seen: card.dataset.seen };
  // saving a text also switches it on
  if (card.dataset.enabled !== "yes") body.enabled = true;
  await put(card, body, "Saved. It applies to everything that starts from now on.");
}

async function switchText(card, box) {
  if (box.checked) {
    if (card.dataset.own === "yes") {
      if (!(await put(card, { enabled: true }, "Your own text is now used."))) box.checked = false;
      return;
    }
    card.dataset.on = "yes";
    showState(card);
    field(card).focus();
    return;
  }
  const discard = () => sure("Discard your changes?", "They are not saved.", { yes: "Discard", danger: true });
  if (isUnsaved(card) && (await discard()) === null) {
    box.checked = true;
    return;
  }
  field(card).value = field(card).defaultValue;
  if (card.dataset.own === "yes") {
    if (!(await put(card, { enabled: false }, "The default is now used. Your own text is kept."))) box.checked = true;
    return;
  }
  card.dataset.on = "";
  showError(card, null);
  showState(card);
}

async function reset(card) {
  const words = "Deletes your own text.";
  if ((await sure(`Reset ${card.dataset.name}?`, words, { yes: "Reset", danger: true })) === null) return;
  await attempt(async () => {
    await api("DELETE", `${base}/${card.dataset.name}?where=${where}`);
    field(card).value = field(card).defaultValue;
    toast(`${card.dataset.name} uses the default again.`);
    await renew(card);
  });
}

async function preview(card, button) {
  showError(card, null);
  const place = card.querySelector(".preview");
  const text = card.dataset.on === "yes" ? field(card).value : field(card).dataset.default;
  button.disabled = true;
  try {
    const { prompts } = await api("POST", `${base}/${card.dataset.name}/preview`, { task: card.querySelector("select").value, text });
    place.replaceChildren(...prompts.flatMap(previewOf));
    place.hidden = false;
    place.scrollIntoView({ block: "nearest" });
  } catch (error) {
    place.hidden = true;
    showError(card, error);
  }
  button.disabled = false;
}

function previewOf(one) {
  const head = make("h3", { textContent: `To ${one.to}` });
  head.append(make("span", { className: "muted small", textContent: `${one.text.length.toLocaleString("en")} characters` }));
  return [head, make("pre", { textContent: one.text, tabIndex: 0 })];
}

function insert(card, name) {
  const area = field(card);
  area.setRangeText(`{{ ${name} }}`, area.selectionStart, area.selectionEnd, "end");
  area.dispatchEvent(new Event("input", { bubbles: true }));
  area.focus();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  const card = button?.closest("form.prompt");
  if (button?.id === "reset-all") return resetAll();
  if (!card) return;
  if (button.dataset.insert) insert(card, button.dataset.insert);
  if ("reset" in button.dataset) reset(card);
  if ("preview" in button.dataset) preview(card, button);
});
document.addEventListener("submit", (event) => {
  if (!event.target.matches("form.prompt")) return; // the form of a dialog
  event.preventDefault();
  save(event.target);
});
document.addEventListener("change", (event) => {
  if (event.target.matches(".switch input")) switchText(event.target.closest("form"), event.target);
});
document.addEventListener("input", (event) => {
  const card = event.target.closest("form.prompt");
  if (card && event.target.matches("textarea")) showState(card);
});
document.addEventListener("keydown", (event) => {
  const card = event.target.closest?.("form.prompt");
  if (!card || event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  if (!card.querySelector("[data-save]").disabled && card.dataset.on === "yes") save(card);
});

async function resetAll() {
  const words = `Deletes all of your own texts ${where === "global" ? "for all projects" : "in this project"}.`;
  if ((await sure("Reset all prompts?", words, { yes: "Reset all", danger: true })) === null) return;
  await attempt(async () => {
    const { removed } = await api("POST", `${base}/reset`, { where });
    toast(removed.length ? `${removed.map((one) => one.name).join(", ")}: reset to the default.` : "There was nothing to reset.");
    await Promise.all(cards().map(renew));
  });
}

addEventListener("beforeunload", (event) => {
  if (cards().some(isUnsaved)) event.preventDefault();
});

cards().forEach(showState);
