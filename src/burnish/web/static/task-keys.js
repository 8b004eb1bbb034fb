// Keyboard shortcuts of the page of a task: from line to line, finding to finding and file to file.
import { toast } from "./burnish.js";
import { addKeys } from "./keys.js";
import { land } from "./task-changes.js";
import { toButton } from "./task-forms.js";
import { commentOn } from "./task-review.js";

// where a range of lines began, while Shift is held
let rangeStart = null;
// where the page was when a key opened the menu
let beforeMenu = null;

// offsetParent is set in a folded file, too, where nothing can have the focus
const visible = (element) => element.checkVisibility();
const all = (selector) => [...document.querySelectorAll(selector)].filter(visible);
const isLine = (row) => row.matches(".lines tr:is(.add, .del, .same):not(.mirror)");
const currentRow = () => (document.activeElement?.matches?.(".lines tr") ? document.activeElement : null);

// what a task waits for: a decision, an answer, or its main button
const DECISIONS = ["#gate-note", "[data-answer] :is(textarea, input, button)", "#part-head .primary"];

// the buttons of a decision; capitals, because small letters are for reading
const CHOICES = {
  A: ["approve", "Approve"],
  F: ["request_changes", "Request changes"],
  C: ["comment", "Comment"],
  R: ["reject", "Reject"],
  S: ["skip", "Skip the review"],
};

/** The button of the decision, if it can be pressed; a plan that is written again is a request for changes, too. */
function button(choice) {
  const values = choice === "request_changes" ? [choice, "fix"] : [choice];
  const found = values.map((value) => document.querySelector(`[data-gate] [name=choice][value=${value}]:enabled`)).find(Boolean);
  return found && visible(found) ? found : null;
}

function toChoice(choice, words) {
  const found = button(choice);
  if (found) return toButton(found);
  const isHere = DECISIONS.some((selector) => [...document.querySelectorAll(selector)].some(visible));
  toast(`${words} cannot be chosen now.`, { hint: isHere ? "Press a to go to what the task needs." : "No decision is needed." });
}

/** The message for letters that did nothing, where the page knows more than that. */
function tellStray(event) {
  const idle = event.detail;
  const hasField = DECISIONS.some((selector) => all(selector).some((one) => one.matches("textarea, input")));
  if (idle?.when === onChanges) toast("This key is for the changes.", { hint: "Press 2 to open them." });
  else if (!idle && hasField) toast("No field has the focus.", { hint: "Press a to write your note." });
  else return;
  event.preventDefault();
}

// a task that was removed has no tabs
const onChanges = () => document.getElementById("changes")?.hidden === false;

export function startKeys() {
  document.addEventListener("stray-letter", tellStray);
  document.addEventListener("keydown", leaveMenu, true);
  document.addEventListener("pointerdown", () => (beforeMenu = null));
  addKeys("Read the change", [
    { keys: ["j", "k"], words: "next or previous line", run: (event) => step(event.key === "j" ? 1 : -1), when: onChanges },
    { keys: ["J", "K"], words: "choose several lines", run: (event) => step(event.key === "J" ? 1 : -1, true), when: onChanges },
    { keys: ["n", "p"], words: "next or previous finding or draft", run: (event) => toFinding(event.key === "n" ? 1 : -1) },
    { keys: ["]", "["], words: "next or previous file", run: (event) => toFile(event.key === "]" ? 1 : -1), when: onChanges },
    { keys: ["c"], words: "comment on the line, or on the chosen lines", run: comment, when: onChanges, needs: "reviewer" },
    { keys: ["v"], words: "mark the file as viewed, and go to the next that is not", run: view, when: onChanges, careful: true },
    { keys: ["e"], words: "fold or unfold the file", run: fold, when: onChanges, careful: true },
    { keys: ["s"], words: "both sides beside each other, or one", run: () => press("[data-split]"), when: onChanges, careful: true },
    { keys: ["i"], words: "ignore white space, or show it", run: () => press("[data-ignore-space]"), when: onChanges, careful: true },
    { keys: ["b"], words: "choose which changes are shown", run: toSpan,
      when: onChanges, careful: true },
    { keys: ["r"], words: "reply to the finding", run: () => rule("r", "[data-rule=reply]"), careful: true, needs: "reviewer" },
    { keys: ["w"], words: "waive, resolve or reopen the finding", run: () => rule("w", "[data-rule]:not([data-rule=reply])"),
      careful: true, needs: "reviewer" },
  ]);
  addKeys("Decide", [
    { keys: ["o"], words: "open or close the text of the review", run: toggleReview, when: () => document.getElementById("gate-details"),
      careful: true },
    { keys: ["d", "a"], words: "go to your decision, to the answer, or to the main button", run: toDecision,
      needs: "reviewer" },
    ...Object.entries(CHOICES).map(([key, [choice, words]]) => ({
      keys: [key], words: `go to ${words}; Enter presses it`, run: () => toChoice(choice, words), needs: "reviewer",
      // few projects allow it
      when: () => choice !== "skip" || button(choice),
      isListed: () => choice !== "skip" || button(choice),
    })),
    { keys: ["Ctrl-Enter"], words: "in a note: press the main button beside it", run: () => {}, needs: "reviewer" },
    // the message has the focus after an act; the Enter that did the act may still be held
    { keys: ["Enter"], words: "after an act: go on to the next task", when: ({ target, repeat }) => target.id === "outcome" && !repeat,
      run: () => document.getElementById("next-entry")?.click() },
    { keys: ["m"], words: "more actions", run: openMenu, when: () => document.getElementById("more"), careful: true, needs: "reviewer" },
    { keys: ["1", "2", "3", "4", "5", "6"], words: "open a tab", run: (event) => all("[role=tab]")[event.key - 1]?.click() },
  ]);
}

/** The first line, file or finding below the upper edge, or the one that has the focus. */
function nearest(elements) {
  const from = document.activeElement?.closest?.(".lines tr, .file, .finding, .finding-item");
  const edge = 130;
  const at = from ? elements.findIndex((one) => one === from || one.contains(from)) : -1;
  if (at >= 0) return { at, isOn: true };
  const below = elements.findIndex((one) => one.getBoundingClientRect().bottom > edge);
  return { at: below < 0 ? elements.length - 1 : below, isOn: false };
}

function step(by, extending = false) {
  // a comment is about lines of one file
  const file = extending && currentRow()?.closest(".file");
  const rows = all(".lines tr").filter((row) => isLine(row) && (!file || file.contains(row)));
  if (!rows.length) {
    // an open file is still being fetched
    if (all(".file").length && !all(".file[open]").length) toast("All files are folded.", { hint: "Press e to unfold a file." });
    return;
  }
  const { at, isOn } = nearest(rows);
  const index = isOn ? at + by : (besideHeading(rows, by) ?? at);
  const row = rows[Math.min(rows.length - 1, Math.max(0, index))];
  rangeStart = extending ? (rangeStart ?? (isOn ? rows[at] : row)) : null;
  focus(row);
  for (const one of document.querySelectorAll(".lines tr.chosen")) one.classList.remove("chosen");
  if (!rangeStart) return;
  const [from, to] = [rows.indexOf(rangeStart), rows.indexOf(row)].sort((a, b) => a - b);
  for (const one of rows.slice(from, to + 1)) one.classList.add("chosen");
}

/** The line after (or before) the heading of the file that has the focus; null without one. */
function besideHeading(rows, by) {
  const file = document.activeElement?.closest?.(".file");
  const below = file ? rows.findIndex((row) => file.compareDocumentPosition(row) & Node.DOCUMENT_POSITION_FOLLOWING) : -1;
  if (below < 0) return null;
  return by > 0 ? below : below - 1;
}

function focus(element) {
  if (!element.hasAttribute("tabindex")) element.tabIndex = -1;
  element.focus({ preventScroll: true });
  const box = element.getBoundingClientRect();
  // people who only look have no decision
  const edge = Math.min(innerHeight, document.querySelector(".floor").getBoundingClientRect().top || innerHeight);
  if (box.top < 130 || box.bottom > edge - 20) element.scrollIntoView({ block: "center" });
}

const finding = () => document.activeElement?.closest?.(".finding:not(.draft), .finding-item");
const press = (selector, within = document) => within.querySelector(selector)?.click();

/** Presses a button of the finding that has the focus; without one, a finding is chosen first. */
function rule(key, selector) {
  const chosen = finding();
  if (chosen) return press(selector, chosen);
  toFinding(1);
  const act = key === "r" ? "reply" : "waive, resolve or reopen it";
  if (finding()) toast("This finding is chosen.", { hint: `Press ${key} again to ${act}.` });
}

function toSpan() {
  const choice = document.getElementById("span");
  if (!choice) return toast("All changes are shown.", { hint: "There is only one review, so nothing can be compared with it." });
  choice.scrollIntoView({ block: "center" });
  choice.focus({ preventScroll: true });
}

function toggleReview() {
  const details = document.getElementById("gate-details");
  details.open = !details.open;
  details.querySelector("summary").focus();
}

function openMenu() {
  const menu = document.getElementById("more");
  beforeMenu = { scroll: scrollY, focus: document.activeElement };
  menu.open = true;
  menu.querySelector(".items :is(button, a)")?.focus();
}

/** Escape in a menu that a key has opened leads back to where the key was pressed: the menu is at the top of the page. */
function leaveMenu(event) {
  const menu = document.querySelector("#more[open]");
  if (event.key !== "Escape" || !menu || !beforeMenu) return;
  event.stopPropagation();
  menu.open = false;
  if (beforeMenu.focus === document.body) document.activeElement.blur();
  else beforeMenu.focus.focus({ preventScroll: true });
  scrollTo({ top: beforeMenu.scroll, behavior: "instant" });
}

function toDecision() {
  const found = DECISIONS.map((selector) => document.querySelector(selector)).find((one) => one && visible(one));
  if (found?.form) found.form.dataset.chosen = "";
  found?.focus();
}

function toFinding(by) {
  const isList = document.getElementById("findings")?.hidden === false;
  const found = all(isList ? ".finding-item" : "#changes .finding");
  if (!found.length) return toast(isList ? "There are no findings." : "No findings in this change.");
  const { at, isOn } = nearest(found);
  const index = isOn ? at + by : by > 0 ? at : at - 1;
  const finding = found[(index + found.length) % found.length];
  if (finding.matches("details")) finding.open = true;
  finding.querySelector("summary, [data-draft-edit]").focus({ preventScroll: true });
  land(finding, "center");
}

function toFile(by) {
  const files = all(".file");
  if (!files.length) return null;
  const { at, isOn } = nearest(files);
  const file = files[Math.min(files.length - 1, Math.max(0, isOn || by < 0 ? at + by : at))];
  file.querySelector("summary").focus({ preventScroll: true });
  land(file);
  return file;
}

const currentFile = () => {
  const files = all(".file");
  return files[nearest(files).at];
};

function comment() {
  // what is typed next must not be taken for shortcuts, so a line is chosen if there is none
  const row = currentRow() ?? firstRow();
  if (!row) return;
  commentOn(rangeStart?.isConnected ? rangeStart : row, row);
  rangeStart = null;
}

/** The first line of the current file that can be seen, which is unfolded. */
function firstRow() {
  const file = currentFile();
  if (file) file.open = true;
  const rows = (file ? [...file.querySelectorAll(".lines tr")] : []).filter((row) => visible(row) && isLine(row));
  return rows.find((row) => row.getBoundingClientRect().bottom > 130) ?? rows[0];
}

// what the last mark had to say
let viewedMessage = null;
document.addEventListener("decided", () => viewedMessage?.remove());

function decisionHint() {
  const keys = { A: "approve", F: "request_changes" };
  const found = Object.entries(keys).filter(([, choice]) => button(choice));
  return found.map(([key, choice]) => `${key}: ${button(choice).firstChild.textContent.trim()}`).join(", ");
}

function view() {
  const file = currentFile();
  const box = file && document.querySelector(`[data-viewed="${file.dataset.number}"]`);
  if (!box) return;
  file.querySelector("summary").focus({ preventScroll: true });
  box.click();
  viewedMessage?.remove();
  if (!box.checked) {
    viewedMessage = toast("The file is not marked as viewed any more.", { hint: file.dataset.path });
    return;
  }
  const boxes = all("[data-viewed]");
  const at = boxes.indexOf(box);
  const next = [...boxes.slice(at + 1), ...boxes.slice(0, at)].find((one) => !one.checked);
  const message = boxes.length === 1 ? "The file is viewed." : `All ${boxes.length} files are viewed.`;
  if (!next) {
    viewedMessage = toast(message, { hint: decisionHint() });
    return;
  }
  const nextFile = document.getElementById(`file-${next.dataset.viewed}`);
  nextFile.querySelector("summary").focus({ preventScroll: true });
  land(nextFile);
}

function fold() {
  const file = currentFile();
  if (!file) return;
  file.open = !file.open;
  file.querySelector("summary").focus({ preventScroll: true });
}
