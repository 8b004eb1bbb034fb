// Not a module, so that it runs before the page is parsed: keeps keys that are pressed before the shortcuts of the page
// exist, or on the page before while this one is fetched, and presses them again when the page is ready.
(() => {
  const STORED = "burnish-early-keys";
  // a key for the next page is of no use if that page comes much later
  const LEAVING_MS = 2000;
  const MAX_KEYS = 40;
  let kept = read();
  // how many of them were pressed on the page before; these do not decide, because the page was not on the screen yet
  let blind = kept.length;
  // the page after the login only leads on to the first one
  let state = document.currentScript.hasAttribute("data-leaving") ? "leaving" : "loading";
  if (kept.length && state === "leaving") store();

  function read() {
    try {
      const { at, keys } = JSON.parse(sessionStorage.getItem(STORED)) ?? {};
      sessionStorage.removeItem(STORED);
      return Date.now() - at < LEAVING_MS * 2 ? keys : [];
    } catch {
      return [];
    }
  }

  addEventListener("keydown", (event) => {
    const { key, target } = event;
    const isEnter = key === "Enter" && !event.repeat && !target.closest?.("a[href], button, summary");
    if (state === "ready" || !event.isTrusted || event.ctrlKey || event.metaKey || event.altKey) return;
    if (target.closest?.("input, textarea, select, [contenteditable], dialog[open]")) return;
    // one letter or sign, spaces between them, and Enter that presses nothing: Tab and arrows do what they do everywhere
    if ((key.length > 1 && !isEnter) || (key === " " && !kept.length) || kept.length >= MAX_KEYS) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    kept.push({ key, at: Date.now() });
    if (state === "leaving") store();
  }, true);

  function store() {
    sessionStorage.setItem(STORED, JSON.stringify({ at: Date.now(), keys: kept }));
  }

  function ready() {
    state = "ready";
    const keys = kept;
    kept = [];
    // how fast they were pressed says whether they are a word
    keys.forEach(({ key, at }, place) => press(key, at - (keys[place - 1]?.at ?? -Infinity), place < blind));
    blind = 0;
  }

  /** A key in a field writes, and Enter presses the button that has the focus, as they would have done. */
  function press(key, gap, isBlind) {
    const target = document.activeElement ?? document.body;
    const isText = target.matches("input:not([type=checkbox]), textarea");
    if (isText) return document.execCommand(key === "Enter" ? "insertLineBreak" : "insertText", false, key);
    const pressed = { key, detail: Math.min(gap, 10000), bubbles: true, cancelable: true };
    const isUsed = !target.dispatchEvent(new KeyboardEvent("keydown", pressed));
    // a question that an earlier key has opened was not read either
    const isSeen = !isBlind && !target.closest("dialog");
    if (key === "Enter" && !isUsed && isSeen && target.matches("a[href], button, summary")) target.click();
  }

  // modules run before DOMContentLoaded; the page of a task fetches the tab that it shows
  addEventListener("DOMContentLoaded", () => {
    if (state === "leaving") return;
    if (document.querySelector(".task-page:not([data-ready])")) document.addEventListener("task-ready", ready, { once: true });
    else ready();
  });
  addEventListener("beforeunload", () => {
    if (state !== "ready") return;
    state = "leaving";
    // a download, or a page that does not come
    setTimeout(() => {
      if (state !== "leaving") return;
      sessionStorage.removeItem(STORED);
      ready();
    }, LEAVING_MS);
  });
  // back from the cache of the browser
  addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    kept = [];
    ready();
  });
})();
