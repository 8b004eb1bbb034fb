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
  if (!answer.ok) throw new Problem({ status: answer.status, ...said });
  return said;
}

/** A part of a page as the server renders it. */
export async function fragment(path) {
  const answer = await fetch(path, { headers: { Accept: "text/html" } });
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
  const made = document.createRange().createContextualFragment(html.trim()).firstElementChild;
  if (!made || old.isEqualNode(made)) return false;
  const focus = old.contains(document.activeElement) ? document.activeElement.id : "";
  old.replaceWith(made);
  if (focus) document.getElementById(focus)?.focus();
  return true;
}

/** Is a form in here being filled in? */
export function busy(element) {
  const active = document.activeElement;
  const typing = active && element.contains(active) && active.matches("input, textarea, select, [contenteditable]");
  return Boolean(typing || element.querySelector("form[data-touched]"));
}

document.addEventListener("input", (event) => {
  event.target.closest("form")?.setAttribute("data-touched", "");
});

/** Listen to a project's events; `heard` gets each one, in order, none left out across reconnects. */
export function listen(project, since, heard) {
  let seen = since;
  let pause = 250;
  const line = document.getElementById("line");
  const say = (state, text) => {
    if (!line) return;
    line.dataset.state = state;
    line.textContent = text;
  };
  function open() {
    const socket = new WebSocket(`ws://${location.host}/ws?project=${encodeURIComponent(project)}&since=${seen}`);
    socket.onmessage = (message) => {
      const told = JSON.parse(message.data);
      if (told.hello) {
        pause = 250;
        say("live", "live");
      }
      if (typeof told.id !== "number" || told.id <= seen) return;
      seen = told.id;
      heard(told);
    };
    socket.onclose = () => {
      say("cut", "reconnecting…");
      setTimeout(open, pause);
      pause = Math.min(pause * 2, 5000);
    };
  }
  open();
}

/** Gather calls that come in a burst, and answer them together. */
export function gathered(work, wait = 60) {
  let waiting = new Set();
  let timer = null;
  return (item) => {
    waiting.add(item);
    timer ??= setTimeout(async () => {
      const items = [...waiting];
      waiting = new Set();
      timer = null;
      await work(items);
    }, wait);
  };
}

function age(seconds) {
  if (seconds >= 86400) return `${Math.floor(seconds / 86400)} d ago`;
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)} h ago`;
  if (seconds >= 60) return `${Math.floor(seconds / 60)} min ago`;
  return "just now";
}

setInterval(() => {
  for (const one of document.querySelectorAll("time[data-ago]")) {
    const words = age((Date.now() - Date.parse(one.dateTime)) / 1000);
    if (one.textContent !== words) one.textContent = words;
  }
}, 15000);

document.getElementById("project-choice")?.addEventListener("change", (event) => {
  const rest = location.pathname.replace(/^\/p\/[^/]+/, "").replace(/^\/t\/.*/, "");
  location.href = `/p/${encodeURIComponent(event.target.value)}${rest}`;
});
