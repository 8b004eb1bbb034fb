// Acts that the server can take back by another legal move. They are not asked about before, but offered afterwards.

const OPPOSITES = {
  archive: () => ["was archived", "PATCH", "", { archived: false }],
  pause: () => ["is paused", "POST", "/unpause", {}],
  unpause: () => ["can run again", "POST", "/pause", {}],
  unqueue: () => ["was taken out of the queue", "POST", "/queue", {}],
  // a task of the backlog has nothing but its text, so nothing is lost
  cancel: (status) => status === "backlog" && ["was cancelled", "PATCH", "", { status: "backlog" }],
  back: (status) => status === "cancelled" && ["is in the backlog again", "POST", "/cancel", {}],
};

/** How to take an act back that is done to a task of this status: words, method, path and body; else null. */
export const opposite = (act, status) => OPPOSITES[act]?.(status) || null;

/** Takes the last act back whose message is on the screen. */
export const undoLast = () => [...document.querySelectorAll("[data-undo]")].at(-1)?.click();
export const canUndo = () => document.querySelector("[data-undo]") !== null;
