// Shared by all pages: calls of the API, messages, dialogs, live updates.
import { dropTexts, keepTexts } from "./drafts.js";

export const KEY = "burnish-key";

export class Problem extends Error {
  constructor(body) {
    // with `errors` the detail says which value is wrong; the title is for programs
    super((body.errors && body.detail) || body.title || "Something went wrong.");
    this.hint = body.errors ? "" : body.detail || "";
    this.status = body.status;
    // nothing went wrong: both together are to be looked at, which is done on the page, not by a command
    this.isDecision = body.task_status === "waiting_approval";
    if (this.isDecision) this.hint = "Look at the change again and approve it, then merge it.";
  }
}

// what is shown while an answer takes long
const SLOW = ["Waiting for the server…", "It has not answered yet."];

/** Shows the words of a message, with `code` as code. */
export function showWords(place, words) {
  const parts = words.trim().split(/`([^`]+)`/);
  place.replaceChildren(...parts.map((part, at) => (at % 2 ? make("code", { textContent: part }) : part)));
}

/** Calls the API with JSON and returns its JSON; throws a Problem if the API refuses. `slow` is shown if it takes long. */
export async function api(method, path, body, { slow = SLOW } = {}) {
  const unknown = method === "GET" ? "" : " The request may have arrived: look at the page before you repeat it.";
  const answered = waiting(slow);
  try {
    const answer = await ask(`/api/v1${path}`, unknown, {
      method,
      headers: {
        Accept: "application/json",
        "X-Burnish-Key": localStorage.getItem(KEY) || "",
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    if (answer.status === 401) loginEnded();
    const reply = text ? JSON.parse(text) : {};
    if (!answer.ok) throw new Problem({ status: answer.status, ...reply });
    return reply;
  } finally {
    answered();
  }
}

/** Ends the session of this browser. */
export async function logOut() {
  await fetch("/logout", { method: "POST", headers: { "X-Burnish-Key": localStorage.getItem(KEY) || "" } });
  localStorage.removeItem(KEY);
}

/** Fetches a part of a page, as HTML. */
export async function fragment(path) {
  const answer = await ask(path, "", { headers: { Accept: "text/html" } });
  if (answer.status === 401) loginEnded();
  if (answer.status === 404 && document.body.dataset.task) taskRemoved();
  if (!answer.ok) {
    const detail = answer.status < 500 ? "Reload the page." : "The terminal of burnish serve says more.";
    throw new Problem({ title: "The page could not be updated.", detail, status: answer.status });
  }
  return answer.text();
}

/** Like fetch, with a message for people if no answer comes. */
async function ask(path, hint, options) {
  try {
    return await fetch(path, options);
  } catch {
    throw new Problem({ title: "burnish serve does not answer.", detail: `Is it still running?${hint}` });
  }
}

// the button that was used last: it shows that its request is under way
let pressed = null;
document.addEventListener("click", (event) => (pressed = event.target.closest?.("button") ?? null), true);
document.addEventListener("submit", (event) => (pressed = event.submitter), true);

// Ctrl-Enter in a field presses the main button of its form, on every page
document.addEventListener("keydown", ({ key, ctrlKey, metaKey, target }) => {
  if (key !== "Enter" || !(ctrlKey || metaKey) || !target.matches?.("textarea, input, select")) return;
  const form = target.closest("[data-gate], [data-answer], dialog > form");
  form?.querySelector("button.primary:enabled, button[value=yes]:enabled")?.click();
});

/** Marks the button, and reports if the answer takes long; returns a function that ends both. */
function waiting([words, hint]) {
  const button = pressed?.isConnected ? pressed : null;
  button?.setAttribute("aria-busy", "true");
  let box = null;
  const slow = setTimeout(() => {
    box = toast(words, { hint, lasting: true });
  }, 2000);
  return () => {
    clearTimeout(slow);
    box?.remove();
    button?.removeAttribute("aria-busy");
  };
}

/** Replaces the page of a task that was removed elsewhere. */
function taskRemoved() {
  const { task, project } = document.body.dataset;
  if (document.getElementById("task-removed")) return;
  const box = make("section", { id: "task-removed", className: "empty" });
  const back = make("a", { className: "button primary", href: `/p/${encodeURIComponent(project)}`, textContent: "Go to the board" });
  const way = make("p");
  way.append(back);
  box.append(
    make("h1", { textContent: `Task ${task} was removed` }),
    make("p", { textContent: "Somebody removed it while this page was open." }),
    way,
  );
  document.getElementById("main").replaceChildren(box);
  document.title = `Task ${task} was removed · burnish`;
}

/**
 * Shows a short message in the corner. `undo` adds a button that takes the action back; `lasting` stays until it is
 * removed, and `closable` until it is clicked or Escape is pressed. `link` (`href` and `words`) leads on.
 * Where there are several projects, the message names the one of this page.
 */
export function toast(text, { hint = "", bad = false, undo = null, lasting = false, closable = false, link = null } = {}) {
  const box = make("div", { className: bad ? "toast bad" : "toast" });
  const where = document.getElementById("project-choice")?.selectedOptions[0]?.textContent;
  const first = make("strong");
  showWords(first, text);
  if (where) first.prepend(make("span", { className: "toast-where", textContent: `${where.trim()}: ` }));
  box.append(first);
  if (hint) {
    box.append(make("span"));
    showWords(box.lastElementChild, hint);
  }
  const end = () => box.remove();
  // a key that is pressed again says the same again, in one place
  const isSame = (one) => !one.querySelector("[data-undo]") && one.textContent === box.textContent;
  if (!undo && !lasting) [...document.querySelectorAll(".toast")].find(isSame)?.remove();
  const acts = make("div", { className: "row" });
  if (link) acts.append(make("a", { className: "button", href: link.href, textContent: link.words }));
  if (undo) acts.append(undoButton(undo, end));
  if (closable) acts.append(closeButton(end));
  if (acts.firstChild) box.append(acts);
  box.addEventListener("click", (event) => event.target.closest("button") || lasting || end());
  document.getElementById("toasts").append(box);
  if (!lasting && !closable) setTimeout(end, bad || undo ? 12000 : 5000);
  return box;
}

/** A key beside the words of its button. */
function keyMark(name) {
  const key = make("kbd", { className: "key", textContent: name });
  key.setAttribute("aria-hidden", "true");
  return key;
}

function closeButton(end) {
  const button = make("button", { type: "button", textContent: "Close" });
  button.append(" ", keyMark("Esc"));
  button.dataset.closeMessage = "";
  button.addEventListener("click", end);
  return button;
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented || event.target.closest?.("input, textarea, select, dialog[open]")) return;
  document.querySelectorAll("[data-close-message]").forEach((one) => one.click());
});

/** A button that takes an act back, by mouse or by the key z. */
export function undoButton(undo, end = () => {}, tell = () => toast("Undone.")) {
  const button = make("button", { type: "button", textContent: "Undo", title: "Undo (z)" });
  button.append(" ", keyMark("z"));
  button.dataset.undo = "";
  button.addEventListener("click", async () => {
    button.remove();
    end();
    if (await attempt(undo)) tell();
  });
  return button;
}

function showProblem(error) {
  // anything else than a Problem is a bug of the page: its message is for programmers
  if (error instanceof Problem) toast(error.message, { hint: error.hint, bad: !error.isDecision, closable: error.isDecision });
  else {
    console.error(error);
    toast("Something went wrong in this page.", { hint: "Reload it and try again.", bad: true });
  }
}

/** Runs the action and shows its error, if any; returns true if it succeeded. */
export async function attempt(action) {
  try {
    await action();
    return true;
  } catch (error) {
    // the page itself says that the login has ended, or that the task was removed
    if (!document.querySelector("#login-ended, #task-removed")) showProblem(error);
    return false;
  }
}

/** Replaces an element by new HTML and returns true, unless the user is typing in it or nothing has changed. */
export function swap(old, html) {
  if (busy(old)) return false;
  const parsed = make("template");
  parsed.innerHTML = html.trim();
  const made = parsed.content.firstElementChild;
  if (!made || old.isEqualNode(made)) return false;
  const focus = old.contains(document.activeElement) ? document.activeElement.id : "";
  old.replaceWith(made);
  if (focus) document.getElementById(focus)?.focus();
  return true;
}

/** True if a form in the element is being filled in, or shows an error. */
export function busy(element) {
  const active = document.activeElement;
  const typing = active && element.contains(active) && active.matches("input, textarea, select, [contenteditable]") &&
    // a checkbox outside of a form has nothing to lose
    !(active.type === "checkbox" && !active.form);
  return Boolean(typing || element.querySelector("form[data-touched], form .error:not([hidden])"));
}

document.addEventListener("input", (event) => {
  const form = event.target.closest("form");
  form?.toggleAttribute("data-touched", [...form.elements].some(isChanged));
});

/** True if a field has another value than the page came with: text that was deleted again is nothing to lose. */
function isChanged(field) {
  if (field.options) return [...field.options].some((one, at) => one.selected !== (one.defaultSelected || (at === 0 && isFirst(field))));
  if (!field.matches("input, textarea")) return false;
  return field.type === "checkbox" || field.type === "radio" ? field.checked !== field.defaultChecked : field.value !== field.defaultValue;
}

/** True if a choice begins with its first option because no other one is marked. */
const isFirst = (choice) => !choice.multiple && ![...choice.options].some((one) => one.defaultSelected);

/**
 * Calls `onEvent` for each event of a project, in order; none is lost when the connection is.
 * Calls `onReconnect` after a lost connection: state without events (which tasks run) may have changed.
 */
export function listen(project, since, onEvent, onReconnect = () => {}) {
  const indicator = document.getElementById("connection");
  let lastId = since;
  let pause = 250;
  let failures = 0;
  function show(state, text) {
    if (!indicator) return;
    indicator.dataset.state = state;
    indicator.textContent = text;
  }
  function open() {
    const socket = new WebSocket(`ws://${location.host}/ws?project=${encodeURIComponent(project)}&since=${lastId}`);
    let last = Date.now();
    // after sleep a connection can be dead without notice; the server sends a heartbeat every 20 seconds
    const watch = setInterval(() => Date.now() - last > 50000 && socket.close(), 10000);
    socket.onmessage = (message) => {
      last = Date.now();
      const event = JSON.parse(message.data);
      if (event.hello) {
        if (failures) onReconnect();
        pause = 250;
        failures = 0;
        show("live", "live");
      }
      if (typeof event.id !== "number" || event.id <= lastId) return;
      lastId = event.id;
      onEvent(event);
      if (COUNTED.test(event.type)) countWaiting("now");
    };
    socket.onclose = async () => {
      clearInterval(watch);
      failures += 1;
      if (await isRefused()) {
        // retries fail until the user logs in, in any tab of this browser
        show("cut", "logged out");
        loginEnded();
        addEventListener("burnish-login", open, { once: true });
        return;
      }
      show("cut", "reconnecting…");
      setTimeout(open, pause);
      pause = Math.min(pause * 2, 4000);
    };
  }
  open();
}

// the number of tasks that need the user, in the header
const COUNTED = /^(task\.(?!created)|decision|gate|finding|approval|override|run)/;
const countWaiting = gathered(async () => {
  const place = document.getElementById("waiting");
  if (!place) return;
  try {
    const answer = await fetch("/inbox/count", { headers: { Accept: "application/json" } });
    if (answer.status === 401) loginEnded();
    if (!answer.ok) return;
    const counts = await answer.json();
    const { waiting } = counts;
    document.dispatchEvent(new CustomEvent("waiting", { detail: counts }));
    place.textContent = waiting > 99 ? "99+" : waiting;
    place.title = waiting === 1 ? "1 task needs you" : `${waiting} tasks need you`;
    place.hidden = !waiting;
  } catch {
    // the next event or the next minute tries again
  }
}, { first: 300, storm: 2000, rest: 8 });
countWaiting("now");
setInterval(() => document.hidden || countWaiting("now"), 60000);

/** True if the server answers, but refuses this browser. A WebSocket does not say why it was closed. */
async function isRefused() {
  try {
    const { status } = await fetch("/api/v1/projects", { headers: { Accept: "application/json" } });
    return status === 401 || status === 403;
  } catch {
    return false;
  }
}

/** Shows that the login has ended with the server, and how to log in again. */
function loginEnded() {
  if (document.getElementById("login-ended")) return;
  const box = make("section", { id: "login-ended", className: "untrusted" });
  box.setAttribute("role", "alert");
  const title = make("p");
  title.append(
    make("strong", { textContent: "Your login has ended: burnish serve was restarted, or you logged out." }),
    " This page is no longer updated, and its buttons do not work.",
  );
  const how = make("p");
  // in another tab: this one keeps what is typed, and goes on
  const link = make("a", { className: "button", href: "/login", target: "_blank", textContent: "Log in in another tab" });
  how.append(
    link, " with the token that ", make("code", { textContent: "burnish serve" }),
    " printed, or restart it with ", make("code", { textContent: "burnish serve --open" }), ".",
  );
  box.append(title, how);
  document.getElementById("main").prepend(box);
}

// another tab has logged in: continue without a reload, to keep what is typed
addEventListener("storage", (event) => {
  if (event.key !== KEY || !event.newValue) return;
  document.getElementById("login-ended")?.remove();
  dispatchEvent(new Event("burnish-login"));
});

/**
 * Collects the items of many calls and passes them to `work` together: soon after a call, less often in a burst.
 * After a call of `work` comes a pause that is `rest` times as long, so that steady events cannot keep the server busy.
 */
export function gathered(work, { first = 4, storm = 400, rest = 1 } = {}) {
  let waiting = new Set();
  let busy = false;
  let gap = first;
  let ended = 0;
  function plan() {
    if (busy || !waiting.size) return;
    busy = true;
    setTimeout(flush, Math.max(first, gap - (performance.now() - ended)));
  }
  async function flush() {
    const items = [...waiting];
    const begun = performance.now();
    waiting = new Set();
    try {
      await work(items);
    } finally {
      busy = false;
      ended = performance.now();
      gap = items.length > 8 ? storm : Math.min(storm, rest * (ended - begun));
      plan();
    }
  }
  return (item) => {
    waiting.add(item);
    plan();
  };
}

/** Asks for confirmation; returns null if cancelled, else the text of the note (`note` is its label; `isLine`: one line). */
export function sure(title, words = "", { yes = "Yes", note = null, isLine = false, danger = false } = {}) {
  const box = document.createElement("dialog");
  const form = make("form", { className: "form", method: "dialog" });
  const text = isLine ? make("input", { name: "note", maxLength: 100 }) : make("textarea", { name: "note", rows: 4 });
  const field = note === null ? null : text;
  // two buttons named Cancel would be ambiguous
  const [confirm, no] = yes === "Cancel" ? ["Cancel task", "Keep task"] : [yes, "Cancel"];
  const buttons = make("div", { className: "row" });
  buttons.append(
    // Enter in a line presses the first button of a form that submits
    make("button", { type: "button", className: "right", textContent: no }),
    make("button", { className: danger ? "danger" : "primary", value: "yes", textContent: confirm }),
  );
  form.append(make("h2", { textContent: title }), make("p", { className: "muted", textContent: words }));
  if (field) {
    form.append(isLine ? labelled(note, field) : withPreview(note, field));
    keepTexts(form, `${location.pathname} ${title}`);
  }
  // Enter in the text begins a new line
  if (field && !isLine) buttons.lastElementChild.append(keyMark("Ctrl Enter"));
  form.append(buttons);
  buttons.firstElementChild.addEventListener("click", () => box.close(""));
  box.append(form);
  document.body.append(box);
  box.showModal();
  (field ?? buttons.lastElementChild).focus();
  return new Promise((resolve) => {
    box.addEventListener("close", () => {
      box.remove();
      if (box.returnValue === "yes") dropTexts(form);
      resolve(box.returnValue === "yes" ? (field?.value ?? "") : null);
    });
  });
}

function labelled(label, field) {
  const outer = make("label");
  outer.append(make("span", { textContent: label }), field);
  return outer;
}

/** A labelled text field with a button that shows its Markdown. */
function withPreview(label, field) {
  const box = make("div", { className: "with-preview" });
  const button = make("button", { type: "button", className: "plain preview-button", textContent: "Preview" });
  button.dataset.preview = "";
  button.setAttribute("aria-pressed", "false");
  box.append(labelled(label, field), button);
  return box;
}

export function make(name, properties = {}) {
  return Object.assign(document.createElement(name), properties);
}

// Cancel, or a click outside of a dialog, closes it
document.addEventListener("click", (event) => {
  const dialog = event.target.closest?.("dialog[open]");
  if (!dialog) return;
  const box = dialog.getBoundingClientRect();
  const beside = event.target === dialog && event.detail > 0 &&
    (event.clientX < box.left || event.clientX > box.right || event.clientY < box.top || event.clientY > box.bottom);
  if (event.target.closest("[data-close]") || (beside && !busy(dialog))) dialog.close("");
});

function age(seconds) {
  if (seconds >= 86400) return `${Math.floor(seconds / 86400)} d ago`;
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)} h ago`;
  if (seconds >= 60) return `${Math.floor(seconds / 60)} min ago`;
  return "just now";
}

/** `12s`, `1m12s`, `2h05m`, as in the terminal. */
function elapsed(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole}s`;
  const two = (number) => String(number).padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)}m${two(whole % 60)}s`;
  return `${Math.floor(whole / 3600)}h${two(Math.floor((whole % 3600) / 60))}m`;
}

// difference to the clock of the server, which may be another machine
const ahead = Date.parse(document.body.dataset.now || "") - Date.now() || 0;

/** Updates the elapsed times: `<time data-since="…">`. */
export function tick() {
  for (const one of document.querySelectorAll("time[data-since]")) {
    const words = elapsed((Date.now() + ahead - Date.parse(one.dataset.since)) / 1000);
    if (one.textContent !== words) one.textContent = words;
  }
}
tick();
setInterval(tick, 1000);

setInterval(() => {
  for (const one of document.querySelectorAll("time[data-ago]")) {
    const words = age((Date.now() - Date.parse(one.dateTime)) / 1000);
    if (one.textContent !== words) one.textContent = words;
  }
}, 15000);

/** How to scroll: at once for people who asked for less motion. */
export const motion = () => (matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth");

// until then a browser scrolls to the tab of the URL, past the title (see burnish.css)
addEventListener("load", () => setTimeout(() => (document.body.dataset.loaded = "yes"), 100));

/** Who comes back in the history finds the focus on the entry, row or card where it was. */
export function keepFocusOnBack(selector) {
  const key = `burnish-focus:${location.pathname}`;
  let last = "";
  document.addEventListener("focusin", ({ target }) => (last = target.closest(selector)?.id ?? last));
  addEventListener("pagehide", () => sessionStorage.setItem(key, last));
  if (performance.getEntriesByType("navigation")[0]?.type !== "back_forward") return;
  document.getElementById(sessionStorage.getItem(key) ?? "")?.focus({ preventScroll: true });
}

/** Sets flex-grow from `data-grow`: the content security policy forbids style attributes. */
export function grow(within) {
  for (const one of within.querySelectorAll("[data-grow]")) one.style.flexGrow = one.dataset.grow;
}
grow(document);

document.getElementById("project-choice")?.addEventListener("change", (event) => {
  const rest = location.pathname.replace(/^\/p\/[^/]+/, "").replace(/^\/t\/.*/, "");
  location.href = `/p/${encodeURIComponent(event.target.value)}${rest}`;
});

// previews of Markdown in forms: a button in .with-preview, beside the label with its text field
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-preview]");
  if (!button) return;
  const box = button.closest(".with-preview");
  const label = box.querySelector("label");
  const on = button.getAttribute("aria-pressed") !== "true";
  const succeeded = await attempt(async () => {
    box.querySelector(".preview")?.remove();
    if (!on) return;
    const { html } = await api("POST", "/markdown", { text: label.querySelector("textarea").value });
    const preview = make("div", { className: "preview", innerHTML: html || "<p>Nothing to preview.</p>" });
    preview.setAttribute("role", "region");
    preview.setAttribute("aria-label", "Preview");
    preview.tabIndex = 0;
    box.append(preview);
  });
  if (!succeeded) return;
  // not hidden: hidden fields are not sent
  box.classList.toggle("previewing", on);
  button.setAttribute("aria-pressed", String(on));
  button.textContent = on ? "Edit" : "Preview";
});
