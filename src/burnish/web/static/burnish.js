// What every page shares: asking the API, saying what went wrong, staying up to date.

export const KEY = "burnish-key";

export class Problem extends Error {
  constructor(body) {
    super(body.title || "Something went wrong.");
    this.hint = body.detail || "";
    this.status = body.status;
  }
}

/** Call the API: JSON in, JSON out; a refusal is thrown as a Problem with what and hint. */
export async function api(method, path, body) {
  const answer = await fetch(`/api/v1${path}`, {
    method,
    headers: {
      Accept: "application/json",
      "X-Burnish-Key": localStorage.getItem(KEY) || "",
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await answer.text();
  const said = text ? JSON.parse(text) : {};
  if (answer.status === 401) loginEnded();
  if (!answer.ok) throw new Problem({ status: answer.status, ...said });
  return said;
}

/** A part of a page as the server renders it. */
export async function fragment(path) {
  const answer = await fetch(path, { headers: { Accept: "text/html" } });
  if (answer.status === 401) loginEnded();
  if (!answer.ok) throw new Problem({ title: `The page could not be brought up to date (${answer.status}).` });
  return answer.text();
}

export function toast(text, { hint = "", bad = false } = {}) {
  const box = document.createElement("div");
  box.className = bad ? "toast bad" : "toast";
  const first = document.createElement("strong");
  first.textContent = text;
  box.append(first);
  if (hint) {
    const second = document.createElement("span");
    second.textContent = hint;
    box.append(second);
  }
  document.getElementById("toasts").append(box);
  setTimeout(() => box.remove(), bad ? 12000 : 5000);
}

/** Do it, and say so where it was refused; true if it was done. */
export async function attempt(action) {
  try {
    await action();
    return true;
  } catch (error) {
    toast(error.message, { hint: error.hint, bad: true });
    return false;
  }
}

/** Put new HTML in the place of old, unless a person is typing there: then say so and wait. */
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

/** Is a form in here being filled in, or does it show why it was refused? */
export function busy(element) {
  const active = document.activeElement;
  const typing = active && element.contains(active) && active.matches("input, textarea, select, [contenteditable]") &&
    // a box outside of a form holds no words
    !(active.type === "checkbox" && !active.form);
  return Boolean(typing || element.querySelector("form[data-touched], form .error:not([hidden])"));
}

document.addEventListener("input", (event) => {
  event.target.closest("form")?.setAttribute("data-touched", "");
});

/**
 * Listen to a project's events; `heard` gets each one, in order, none left out across reconnects.
 * `again` is called when the line is back after a cut: what is no event (who runs here) may have changed.
 */
export function listen(project, since, heard, again = () => {}) {
  const line = document.getElementById("connection");
  let seen = since;
  let pause = 250;
  let cuts = 0;
  function say(state, text) {
    if (!line) return;
    line.dataset.state = state;
    line.textContent = text;
  }
  function open() {
    const socket = new WebSocket(`ws://${location.host}/ws?project=${encodeURIComponent(project)}&since=${seen}`);
    let last = Date.now();
    // a laptop that slept holds a dead line: the server's heart beats every 20 seconds
    const watch = setInterval(() => Date.now() - last > 50000 && socket.close(), 10000);
    socket.onmessage = (message) => {
      last = Date.now();
      const told = JSON.parse(message.data);
      if (told.hello) {
        if (cuts) again();
        pause = 250;
        cuts = 0;
        say("live", "live");
      }
      if (typeof told.id !== "number" || told.id <= seen) return;
      seen = told.id;
      heard(told);
      if (COUNTED.test(told.type)) countWaiting("now");
    };
    socket.onclose = async () => {
      clearInterval(watch);
      cuts += 1;
      if (await isRefused()) {
        // no retry can succeed until somebody logs in, in any tab of this browser
        say("cut", "logged out");
        loginEnded();
        addEventListener("burnish-login", open, { once: true });
        return;
      }
      say("cut", "reconnecting…");
      setTimeout(open, pause);
      pause = Math.min(pause * 2, 4000);
    };
  }
  open();
}

// what needs a person, in the bar on top of every page
const COUNTED = /^(task\.(?!created)|decision|gate|finding|approval|override|run)/;
const countWaiting = gathered(async () => {
  const place = document.getElementById("waiting");
  if (!place) return;
  try {
    const answer = await fetch("/inbox/count", { headers: { Accept: "application/json" } });
    if (answer.status === 401) loginEnded();
    if (!answer.ok) return;
    const { waiting } = await answer.json();
    place.textContent = waiting > 99 ? "99+" : waiting;
    place.title = waiting === 1 ? "1 task waits for you" : `${waiting} tasks wait for you`;
    place.hidden = !waiting;
  } catch {
    // the next event, or the next minute
  }
}, { first: 300, storm: 2000 });
countWaiting("now");
setInterval(() => document.hidden || countWaiting("now"), 60000);

/** Does the server answer, and refuse this browser? A browser is not told why a socket was refused. */
async function isRefused() {
  try {
    const { status } = await fetch("/api/v1/projects", { headers: { Accept: "application/json" } });
    return status === 401 || status === 403;
  } catch {
    return false;
  }
}

/** Say on the open page that logins end with the server, and how to log in again. */
function loginEnded() {
  if (document.getElementById("login-ended")) return;
  const box = make("section", { id: "login-ended", className: "untrusted" });
  box.setAttribute("role", "alert");
  const title = make("p");
  title.append(
    make("strong", { textContent: "burnish serve was restarted, and your login ended with the earlier one." }),
    " This page no longer changes, and its buttons do nothing.",
  );
  const how = make("p");
  how.append(
    "Log in again: open the address that ", make("code", { textContent: "burnish serve" }),
    " printed, or stop it and start ", make("code", { textContent: "burnish serve --open" }),
  );
  box.append(title, how);
  document.getElementById("main").prepend(box);
}

// another tab has logged in: this page goes on, with what is typed in it
addEventListener("storage", (event) => {
  if (event.key !== KEY || !event.newValue) return;
  document.getElementById("login-ended")?.remove();
  dispatchEvent(new Event("burnish-login"));
});

/** Gather calls that come in a burst, and answer them together: at once when it is quiet, seldom in a storm. */
export function gathered(work, { first = 12, storm = 400 } = {}) {
  let waiting = new Set();
  let busy = false;
  let gap = first;
  let ended = 0;
  function plan() {
    if (busy || !waiting.size) return;
    busy = true;
    const rested = performance.now() - ended;
    if (rested > 2 * storm) gap = first;
    setTimeout(flush, Math.max(first, gap - rested));
  }
  async function flush() {
    const items = [...waiting];
    waiting = new Set();
    try {
      await work(items);
    } finally {
      busy = false;
      ended = performance.now();
      gap = Math.min(storm, items.length > 8 ? storm : gap * 2);
      plan();
    }
  }
  return (item) => {
    waiting.add(item);
    plan();
  };
}

/** Ask before something that is not undone by a click; `note` asks for words as well. Null = no. */
export function sure(title, words = "", { yes = "Yes", note = null, danger = false } = {}) {
  const box = document.createElement("dialog");
  const form = make("form", { className: "form", method: "dialog" });
  const field = note === null ? null : make("textarea", { name: "note", placeholder: note, rows: 3 });
  const buttons = make("div", { className: "row" });
  buttons.append(
    make("button", { className: "right", value: "", textContent: "Not now", formNoValidate: true }),
    make("button", { className: danger ? "danger" : "primary", value: "yes", textContent: yes }),
  );
  form.append(make("h2", { textContent: title }), make("p", { className: "muted", textContent: words }));
  if (field) form.append(field);
  form.append(buttons);
  box.append(form);
  document.body.append(box);
  box.showModal();
  (field ?? buttons.lastElementChild).focus();
  return new Promise((resolve) => {
    box.addEventListener("close", () => {
      box.remove();
      resolve(box.returnValue === "yes" ? (field?.value ?? "") : null);
    });
  });
}

export function make(name, properties = {}) {
  return Object.assign(document.createElement(name), properties);
}

// a button that closes its dialog without an answer, and a click beside it
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

/** `12s`, `1m12s`, `2h05m`: as the terminal says it. */
function elapsed(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole}s`;
  const two = (number) => String(number).padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)}m${two(whole % 60)}s`;
  return `${Math.floor(whole / 3600)}h${two(Math.floor((whole % 3600) / 60))}m`;
}

// the clock of the server, which may be another machine's
const ahead = Date.parse(document.body.dataset.now || "") - Date.now() || 0;

/** Let what is under way count on: `<time data-since="…">`. */
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

/** A style attribute is not allowed here, and a share must come from somewhere: `data-grow="3"`. */
export function grow(within) {
  for (const one of within.querySelectorAll("[data-grow]")) one.style.flexGrow = one.dataset.grow;
}
grow(document);

document.getElementById("project-choice")?.addEventListener("change", (event) => {
  const rest = location.pathname.replace(/^\/p\/[^/]+/, "").replace(/^\/t\/.*/, "");
  location.href = `/p/${encodeURIComponent(event.target.value)}${rest}`;
});
