// The user's own review: comments on lines of the diff, saved as drafts on the server, and files that were viewed.
import { api, attempt, showWords } from "./burnish.js";
import { path, refresh } from "./task-context.js";
import { tellOutcome } from "./task-outcome.js";

// rows of the range that is being chosen
let anchor = null;
const saves = new WeakMap();
// the line that the row of a form is about
const lines = new WeakMap();

export function startReview() {
  document.addEventListener("click", clicked);
  document.addEventListener("submit", submitted);
  document.addEventListener("input", typed);
  document.addEventListener("change", viewedChanged);
  document.addEventListener("part", ({ detail: part }) => part.dataset.part === "changes" && putMarks(part));
  document.addEventListener("keydown", (event) => {
    const form = event.target.closest?.("[data-comment]");
    if (!form) return;
    if (event.key === "Escape") cancel(form);
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  // a range is chosen by dragging over line numbers
  document.addEventListener("pointerdown", (event) => {
    const row = numberRow(event);
    if (!row || event.button || event.shiftKey) return;
    event.preventDefault();
    anchor = row;
    mark(row, row);
  });
  document.addEventListener("pointerover", (event) => anchor && event.buttons && extend(event));
  document.addEventListener("pointerup", (event) => {
    const from = anchor;
    anchor = null;
    if (!from) return;
    const to = numberRow(event) ?? from;
    commentOn(from, sameSide(from, to) ? to : from);
  });
}

const numberRow = (event) => event.target.closest?.(".lines td.n, .lines td.sign")?.closest("tr[class]:not(.fold, .note, .about, .mirror)");

function extend(event) {
  const row = event.target.closest?.(".lines tr");
  if (row && sameSide(anchor, row)) mark(anchor, row);
}

const side = (row) => (row.classList.contains("del") ? "old" : "new");
const sameSide = (one, other) => one.parentElement === other.parentElement && side(one) === side(other) && number(other) > 0;
/** The line number of a row on its side. */
const number = (row) => Number(row.cells[side(row) === "old" ? 0 : 1]?.textContent) || 0;

function rowsBetween(one, other) {
  const rows = [...one.parentElement.rows];
  const [from, to] = [rows.indexOf(one), rows.indexOf(other)].sort((a, b) => a - b);
  return rows.slice(from, to + 1).filter((row) => side(row) === side(one) && number(row) && !row.matches(".mirror"));
}

function mark(one, other) {
  for (const row of document.querySelectorAll(".lines tr.chosen")) row.classList.remove("chosen");
  for (const row of one ? rowsBetween(one, other) : []) row.classList.add("chosen");
}

/** Opens the form for a comment on the lines from one row to the other. */
export function commentOn(one, other = one) {
  const rows = rowsBetween(one, other);
  if (!rows.length) return;
  const last = rows.at(-1);
  const above = lastOfPair(last);
  const open = above.nextElementSibling?.querySelector?.("[data-comment]");
  if (open) return open.elements.text.focus();
  mark(rows[0], last);
  const file = last.closest(".file");
  const form = makeForm({
    path: file.dataset.path,
    blob: side(last) === "old" ? file.dataset.oldBlob : file.dataset.blob,
    side: side(last),
    line: number(rows[0]),
    end_line: number(last),
  });
  form.dataset.quote = rows.map((row) => plainText(row)).join("\n");
  const row = document.createElement("tr");
  row.className = side(last) === "old" ? "note of-old" : "note of-new";
  const cell = row.insertCell();
  cell.colSpan = last.cells.length;
  cell.append(form);
  // below findings and drafts of the line
  (above.nextElementSibling?.matches(".note") ? above.nextElementSibling : above).after(row);
  lines.set(row, last);
  form.elements.text.focus({ preventScroll: true });
  form.scrollIntoView({ block: "nearest" });
}

/** Side by side, a removed line stands beside the added one that follows it: the form comes below both. */
function lastOfPair(row) {
  const next = row.nextElementSibling;
  return row.matches(".split .del") && next?.matches(".add") ? next : row;
}

function plainText(row) {
  const cell = row.querySelector(".code").cloneNode(true);
  for (const one of cell.querySelectorAll(".visually-hidden, .cut")) one.remove();
  return cell.textContent;
}

function makeForm(place) {
  const form = document.getElementById("comment-form").content.firstElementChild.cloneNode(true);
  const { line, end_line: end, side: which } = place;
  const range = line === end || !end ? `line ${line}` : `lines ${line} to ${end}`;
  form.querySelector("[data-where]").textContent = `Comment on ${range}${which === "old" ? " of the base" : ""}`;
  // what was removed cannot be replaced
  form.querySelector("[data-suggest]").hidden = which === "old";
  form.dataset.place = JSON.stringify(place);
  return form;
}

async function clicked(event) {
  const button = event.target.closest("button");
  if (!button) return;
  const form = button.closest("[data-comment]");
  if (form && button.matches("[data-cancel]")) cancel(form);
  if (form && button.matches("[data-suggest]")) suggest(form);
  if (button.dataset.draftEdit) editDraft(button.closest("[data-draft]"));
  if (button.dataset.draftDelete) {
    button.disabled = true;
    await dropDraft(button.dataset.draftDelete);
    update();
  }
}

/** Deletes a draft; the message that tells it can bring it back. */
async function dropDraft(id) {
  await attempt(async () => {
    const { comments } = await api("GET", `${path}/draft`);
    await api("DELETE", `${path}/draft/comments/${id}`);
    const old = comments.find((one) => String(one.id) === id);
    if (old) offerDraft({ path: old.path, blob: old.blob, side: old.side, line: old.line, end_line: old.end_line, text: old.text });
  });
}

function offerDraft(comment) {
  if (!comment.text.trim()) return;
  const undo = async () => {
    await api("POST", `${path}/draft/comments`, comment);
    update();
  };
  tellOutcome("Your comment was deleted.", undo);
}

function suggest(form) {
  const field = form.elements.text;
  const quote = form.dataset.quote ?? "";
  // longer than any fence in the lines
  const fence = "`".repeat(Math.max(3, ...(quote.match(/`+/g) ?? []).map((run) => run.length + 1)));
  const block = `${fence}suggestion\n${quote}\n${fence}\n`;
  field.setRangeText(`${field.value && !field.value.endsWith("\n") ? "\n" : ""}${block}`, field.value.length, field.value.length, "end");
  field.rows = Math.min(14, field.value.split("\n").length + 1);
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.focus();
  form.scrollIntoView({ block: "nearest" });
}

function editDraft(box) {
  if (box.querySelector("[data-comment]")) return;
  const form = makeForm({});
  form.querySelector("[data-where]").textContent = "Edit your comment";
  form.querySelector("[data-label]").textContent = "Save";
  form.dataset.draft = box.dataset.draft;
  form.dataset.before = box.querySelector("[data-text]").textContent;
  form.elements.text.value = form.dataset.before;
  form.elements.text.rows = Math.min(14, form.dataset.before.split("\n").length + 1);
  box.append(form);
  form.elements.text.focus({ preventScroll: true });
  form.scrollIntoView({ block: "nearest" });
}

// Text is saved while it is typed, so that nothing is lost with the page.

function typed(event) {
  const form = event.target.closest("[data-comment]");
  if (!form) return;
  form.querySelector(".error").hidden = true;
  clearTimeout(saves.get(form)?.timer);
  const timer = setTimeout(() => save(form).catch(() => {}), 800);
  saves.set(form, { ...saves.get(form), timer });
}

/** One request at a time: two would make two drafts. */
function save(form) {
  const before = saves.get(form)?.request ?? Promise.resolve();
  const request = before.catch(() => {}).then(() => saveNow(form));
  saves.set(form, { ...saves.get(form), request });
  return request;
}

async function saveNow(form) {
  const text = form.elements.text.value;
  if (!text.trim() || text === form.dataset.savedText) return;
  const state = form.querySelector("[data-saved]");
  if (form.dataset.draft) await api("PATCH", `${path}/draft/comments/${form.dataset.draft}`, { text });
  else {
    form.dataset.draft = (await api("POST", `${path}/draft/comments`, { ...JSON.parse(form.dataset.place), text })).id;
    // it is sent with the decision, which counts it
    refresh("gate");
  }
  form.dataset.savedText = text;
  state.textContent = "Draft saved";
}

async function submitted(event) {
  const form = event.target;
  if (!form.matches("[data-comment]")) return;
  event.preventDefault();
  const message = form.querySelector(".error");
  message.hidden = true;
  const fail = (words) => {
    showWords(message, words);
    message.hidden = false;
  };
  if (!form.elements.text.value.trim()) {
    form.elements.text.focus();
    return fail("Your comment is empty. Write what should change here.");
  }
  clearTimeout(saves.get(form)?.timer);
  try {
    await save(form);
    close(form);
  } catch (error) {
    fail(`${error.message} ${error.hint ?? ""}`);
  }
}

async function cancel(form) {
  clearTimeout(saves.get(form)?.timer);
  await saves.get(form)?.request?.catch(() => {});
  const { draft, before } = form.dataset;
  if (draft && before) await attempt(() => api("PATCH", `${path}/draft/comments/${draft}`, { text: before }));
  else if (draft) await dropDraft(draft);
  else offerDraft({ ...JSON.parse(form.dataset.place), text: form.elements.text.value });
  close(form);
}

function close(form) {
  const row = form.closest("tr.note");
  const isEdit = form.closest(".draft") !== null;
  const line = row && (lines.get(row) ?? lineAbove(row));
  form.remove();
  if (!isEdit) row?.remove();
  mark(null);
  line?.focus?.({ preventScroll: true });
  update();
}

/** The line that a row of drafts and findings is below. */
function lineAbove(row) {
  let above = row.previousElementSibling;
  while (above?.matches(".note, .mirror")) above = above.previousElementSibling;
  if (above && !above.hasAttribute("tabindex")) above.tabIndex = -1;
  return above;
}

function update() {
  refresh("changes");
  refresh("gate");
}

// files viewed

// what was marked here and may be missing in a part that was asked for before: path and blob → mark
const marks = new Map();

/** A part that was asked for before a mark was stored does not have it. */
function putMarks(part) {
  for (const [key, { isViewed, storedAt }] of marks) {
    if (storedAt < part.askedAt) marks.delete(key);
    const file = [...part.querySelectorAll(".file")].find((one) => keyOf(one) === key);
    const box = file && part.querySelector(`[data-viewed="${file.dataset.number}"]`);
    if (!box || box.checked === isViewed) continue;
    box.checked = isViewed;
    file.open = !isViewed;
  }
  countViewed();
}

const keyOf = (file) => `${file.dataset.path} ${file.dataset.blob}`;

async function viewedChanged(event) {
  const box = event.target.closest("[data-viewed]");
  if (!box) return;
  const file = document.getElementById(`file-${box.dataset.viewed}`);
  const { path: name, blob } = file.dataset;
  const isViewed = box.checked;
  file.open = !isViewed;
  const mark = { isViewed, storedAt: Infinity };
  marks.set(keyOf(file), mark);
  countViewed();
  const succeeded = await attempt(() => api("PUT", `${path}/viewed`, { path: name, blob, viewed: isViewed }));
  mark.storedAt = performance.now();
  if (succeeded) return;
  marks.delete(keyOf(file));
  const now = document.querySelector(`[data-viewed="${file.dataset.number}"]`);
  if (now) now.checked = !isViewed;
  countViewed();
}

function countViewed() {
  const place = document.getElementById("viewed-count");
  if (!place) return;
  place.textContent = `${document.querySelectorAll("[data-viewed]:checked").length} of ${place.dataset.files} viewed`;
  for (const box of document.querySelectorAll("[data-viewed]")) {
    document.querySelector(`.leaf[href="#file-${box.dataset.viewed}"]`)?.classList.toggle("is-viewed", box.checked);
  }
}
