// What needs the user: where `g n` leads.
// Opt-in: a notification of the browser when another task needs the user, and their number in the title of the page.
import { toast } from "./burnish.js";
import { preference, setPreference } from "./preferences.js";

let before = null;
// the entries of the inbox below this task when its page was opened: once decided, it is there no more
let below = null;
const MAX_BELOW = 50;

export const isOn = () => preference("notify") === "on";

/** The address of the next task that needs the user; with `peek`, of its name. */
export function nextPath(peek = false) {
  const { project, task } = document.body.dataset;
  const words = { ...(task && { after: `${project}-${task}` }), ...(below?.length && { then: below.join(",") }) };
  return `/inbox/next?${new URLSearchParams({ ...words, ...(peek && { peek: "true" }) })}`;
}

function noteNeighbours(order) {
  const { project, task } = document.body.dataset;
  const at = order.indexOf(`${project}-${task}`);
  if (at >= 0) below ??= order.slice(at + 1, at + 1 + MAX_BELOW);
}

/** Switches it on or off; the browser asks for permission the first time. */
export async function toggle() {
  const on = !isOn();
  const allowed = !on || !("Notification" in window) || (await Notification.requestPermission()) === "granted";
  setPreference("notify", on ? "on" : "off");
  draw();
  if (!on) toast("Notifications are off in this browser.");
  else if (allowed) toast("You are notified here while a page of burnish is open.");
  else toast("The title shows how many tasks need you.", { hint: "The browser does not allow notifications of this page." });
}

function draw() {
  // a task that was removed meanwhile has another title
  const title = document.title.replace(/^\(\d+\) /, "");
  document.title = isOn() && before?.waiting ? `(${before.waiting}) ${title}` : title;
  const button = document.getElementById("notify-button");
  button?.setAttribute("aria-pressed", String(isOn()));
}

document.addEventListener("waiting", ({ detail }) => {
  const more = before !== null && detail.waiting > before.waiting;
  before = detail;
  noteNeighbours(detail.order);
  draw();
  if (!more || !isOn() || !document.hidden || window.Notification?.permission !== "granted") return;
  const { latest, waiting } = detail;
  // one tag: pages in several tabs show one notification
  const shown = new Notification(latest?.title ?? `${waiting} tasks need you`, { body: latest?.why ?? "", tag: `burnish-${waiting}` });
  shown.onclick = () => {
    window.focus();
    location.href = latest?.link ?? "/inbox";
    shown.close();
  };
});

document.getElementById("notify-button")?.addEventListener("click", toggle);
document.addEventListener("preference", draw);
document.addEventListener("palette", ({ detail }) => {
  const label = isOn() ? "Turn notifications of this browser off" : "Notify me in this browser";
  detail.push({ label, kind: "setting", run: toggle });
});
