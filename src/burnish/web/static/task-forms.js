// Decisions of the user. Each request names the commit that was shown when the form was opened.
import { api, attempt, make, Problem, showWords } from "./burnish.js";
import { dropTexts, keepTexts } from "./drafts.js";
import { fetchParts, path, refresh, releaseParts, task } from "./task-context.js";
import { tellOutcome } from "./task-outcome.js";

const head = () => document.getElementById("part-head").dataset;
const dialog = (name) => document.getElementById(name);
let finding = "";
// how a finding was closed before it is reopened: `resolve` or `waive`, with what was said then
let closed = null;
// whether the decision has started a run
let isFixStarted = false;

export function startForms() {
  document.addEventListener("ask", (event) => openDialog(event.detail));
  document.addEventListener("submit", submit);
  document.addEventListener("keydown", leave);
  document.addEventListener("keydown", pressChosen);
  document.addEventListener("focusin", ({ target }) => target.form?.matches("[data-gate]") && markMainButton(target.form));
  document.addEventListener("input", (event) => {
    const box = event.target.closest(".override-reasons");
    if (box) categorise(box);
    // what was missing is being given
    const message = event.target.form?.matches("[data-gate]") && event.target.form.querySelector(".error");
    if (message) message.hidden = true;
    if (event.target.id === "gate-note") markMainButton(event.target.form);
  });
  document.addEventListener("click", (event) => {
    const rule = event.target.closest("[data-rule]");
    if (rule) openRule(rule.dataset);
    const apply = event.target.closest("[data-apply], [data-apply-all]");
    if (apply) openApply(apply.dataset.apply);
  });
  for (const box of document.querySelectorAll(".override-reasons")) categorise(box);
  keepOnPage(document);
  document.addEventListener("part", (event) => {
    event.detail.querySelectorAll(".override-reasons").forEach(categorise);
    keepOnPage(event.detail);
  });
}

/** The decision and the answers are forms of the page itself. */
function keepOnPage(within) {
  for (const form of within.querySelectorAll("[data-gate], [data-answer]")) {
    keepTexts(form, `${path} ${form.dataset.answer ?? "gate"}`);
    if (form.matches("[data-gate]")) markMainButton(form);
  }
}

// decisions that are mostly made with words
const WITH_WORDS = new Set(["request_changes", "fix", "comment"]);

/** Goes to a button of the decision; to the note first, if the decision may have words and none are written. */
export function toButton(found) {
  const { form, value } = found;
  const takesWords = WITH_WORDS.has(value) && !form.elements.note.value.trim();
  form.dataset.chosen = takesWords ? value : "";
  const reasons = form.querySelector(".against");
  if (reasons && value !== "approve") reasons.hidden = true;
  markMainButton(form);
  (takesWords ? form.elements.note : found).focus();
}

const hasDrafts = () => document.querySelector("[data-draft]") !== null;

/** True if the choice has something to send: a note, drafts, or findings that the agent gets. */
function hasWords({ elements, dataset }, choice) {
  const hasFindings = choice === "request_changes" && !dataset.question && Boolean(dataset.against || Number(head().open));
  return Boolean(elements.note?.value.trim()) || hasDrafts() || hasFindings;
}

// by form: its main button while nothing is written
const usualChoices = new WeakMap();

/**
 * Marks the main button, which Ctrl-Enter presses. A note is for the agent, so the button that starts the agent is it
 * while there is one; in the reasons of an override the note is a reason.
 */
function markMainButton(form) {
  const buttons = [...form.querySelectorAll("[name=choice]")];
  if (!usualChoices.has(form)) usualChoices.set(form, buttons.find((one) => one.matches(".primary"))?.value);
  const isOverride = form.querySelector(".against:not([hidden])") !== null;
  const sendsBack = buttons.find((one) => ["request_changes", "fix"].includes(one.value))?.value;
  const hasNote = Boolean(form.elements.note?.value.trim());
  const main = isOverride ? "approve" : form.dataset.chosen || (hasNote && sendsBack) || usualChoices.get(form);
  for (const one of buttons) one.classList.toggle("primary", one.value === main);
  nameMainButton(form);
}

/** Says beside the note which button Ctrl-Enter presses. */
function nameMainButton(form) {
  const place = form.querySelector("[data-main]");
  if (place) place.textContent = form.querySelector("button.primary")?.firstChild.textContent.trim() ?? "";
  const isOverride = form.querySelector(".against:not([hidden])") !== null;
  const leave = form.querySelector("[data-leave]");
  if (leave) leave.textContent = isOverride ? "Close the reasons" : "Leave the note";
  const { note } = form.elements;
  // a decision about a branch that has moved has none
  if (!note) return;
  note.dataset.usual ??= note.placeholder;
  note.placeholder = isOverride ? "Why you approve it (press a)" : note.dataset.usual;
}

/** Escape closes the reasons of an approval, then leaves the note: keys are for the page again, and no text is lost. */
function leave(event) {
  const form = event.key === "Escape" && event.target.closest?.("[data-gate], [data-answer]");
  if (!form) return;
  const reasons = form.querySelector(".against:not([hidden])");
  if (!reasons) {
    form.dataset.chosen = "";
    markMainButton(form);
    return event.target.blur();
  }
  reasons.hidden = true;
  form.querySelector(".error").hidden = true;
  markMainButton(form);
  // keys stay keys: a letter that is pressed next must not land in the note
  if (event.target !== form.elements.note) form.querySelector("[name=choice][value=approve]").focus();
}

/** Enter in an empty note presses the button that a key has chosen. */
function pressChosen(event) {
  const { form, value, id } = event.target;
  if (event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.metaKey) return;
  if (id !== "gate-note" || value || !form.dataset.chosen) return;
  event.preventDefault();
  form.requestSubmit(form.querySelector(`[name=choice][value=${form.dataset.chosen}]`));
}

function openDialog(name) {
  const box = dialog(name);
  if (!box) return;
  reset(box);
  keepTexts(box.querySelector("form"), `${path} ${name}`);
  Object.assign(box.dataset, { commit: head().commit, status: head().status });
  if (name === "handoff") markHandedOver(box, false);
  for (const one of box.querySelectorAll("[data-seen]")) one.textContent = head().commit.slice(0, 10);
  const grounds = box.querySelector("[data-unapproved]");
  if (grounds) {
    grounds.hidden = head().status === "verified";
    grounds.querySelector("fieldset").disabled = grounds.hidden;
  }
  box.showModal();
}

function openRule({ rule, finding: which, title, closed: before }) {
  const box = dialog(rule);
  reset(box);
  keepTexts(box.querySelector("form"), `${path} ${rule} ${which}`);
  finding = which;
  closed = before ? JSON.parse(before) : null;
  box.querySelector("[data-which]").textContent = which;
  box.querySelector("[data-title]").textContent = title;
  box.showModal();
  box.querySelector("textarea").focus();
}

/** Offers all suggestions of the page; `which` is chosen, or all of them without it. */
function openApply(which) {
  openDialog("apply");
  const titles = new Map();
  for (const one of document.querySelectorAll("[data-apply]")) titles.set(one.dataset.apply, one.dataset.title);
  const rows = [...titles].map(([id, title]) => {
    const row = make("label", { className: "check" });
    const input = make("input", { type: "checkbox", name: "finding", value: id, checked: !which || id === which });
    row.append(input, make("span", { textContent: `${id} ${title}` }));
    return row;
  });
  const choices = dialog("apply").querySelector("[data-choices]");
  choices.replaceChildren(choices.querySelector("legend"), ...rows);
  choices.querySelector("input:checked, input")?.focus();
}

function reset(box) {
  const form = box.querySelector("form");
  form.reset();
  form.removeAttribute("data-touched");
  form.querySelector(".error").hidden = true;
  for (const one of box.querySelectorAll(".override-reasons")) categorise(one);
}

/** The first checked reason gives the category; without one an explanation is required. */
function categorise(box) {
  const yes = [...box.querySelectorAll("[data-ground]")].find((one) => one.checked);
  box.querySelector("[data-category]").textContent = (yes?.dataset.ground ?? "").replace("pre_", "pre-").replaceAll("_", " ");
  box.querySelector("[data-recorded]").hidden = !yes;
  box.querySelector("[data-must]").hidden = Boolean(yes);
  const own = box.querySelector("[data-explain]");
  if (own) own.required = !yes;
}

function groundsOf(form) {
  const box = form.querySelector(".override-reasons");
  if (!box || box.disabled) return undefined;
  const reasons = {};
  for (const one of box.querySelectorAll("input[type=checkbox]")) reasons[one.name] = one.checked;
  // at the gate, the note explains it
  reasons.explain = (box.querySelector("[data-explain]") ?? form.elements.note).value;
  return reasons;
}

async function submit(event) {
  const form = event.target;
  const box = form.closest("dialog");
  // a question (`sure`) is a dialog without an id, and closes by itself
  if (!form.matches("[data-gate], [data-answer]") && !(box && box.id in REQUESTS)) return;
  event.preventDefault();
  const message = form.querySelector(".error");
  if (message) message.hidden = true;
  const buttons = [...form.querySelectorAll("button:enabled")];
  buttons.forEach((button) => (button.disabled = true));
  // events of this act arrive before its answer
  form.toggleAttribute("data-sending", true);
  isFixStarted = false;
  let isSent = false;
  try {
    const outcome = await (box ? act(form, box) : form.dataset.answer ? answer(form) : decide(form, event.submitter.value));
    // the dialog shows what came back
    if (!outcome) return;
    isSent = true;
    form.removeAttribute("data-touched");
    form.dataset.chosen = "";
    dropTexts(form);
    closeDialog(box);
    const words = `${outcome}${stillWaits(box?.id ?? event.submitter?.value)}`;
    tellOutcome(words, UNDONE[box?.id]?.() ?? null, RUNS.has(box?.id ?? form.dataset.answer) || isFixStarted);
  } catch (error) {
    if (!message) throw error;
    if (box && error.status === 409 && (await hasMoved(box))) {
      closeDialog(box);
      // the decision is below the message
      return tellOutcome(error.isDecision ? error.message : `${error.message} ${error.hint ?? ""}`.trim(), null, false, "warn");
    }
    showWords(message, `${error.message} ${error.hint ?? ""}`);
    message.hidden = false;
    // the decision was about an old state: ask to reload the page
    if (error.status === 409) form.querySelector("[data-stale]")?.removeAttribute("hidden");
    // the box at the lower edge is always in view
    if (box) message.scrollIntoView({ block: "nearest" });
  } finally {
    form.removeAttribute("data-sending");
    // a form of the page that was sent is replaced in a moment, and cannot be sent twice until then
    if (box || !isSent) buttons.forEach((button) => (button.disabled = false));
    // a disabled button cannot keep the focus
    if (!isSent && document.activeElement === document.body) (isNoteMissing(form, event) ? form.elements.note : event.submitter)?.focus();
  }
  releaseParts();
  for (const name of ["head", "gate", "story", "findings", "changes"]) refresh(name);
}

/** The button that opened the dialog is replaced in a moment, so it cannot keep the focus. */
function closeDialog(box) {
  document.activeElement?.blur?.();
  box?.close();
  if (document.activeElement?.closest("#part-head")) document.activeElement.blur();
}

/** True if the task has another status than when the dialog was opened: what the dialog asks for is refused from now on. */
async function hasMoved(box) {
  await attempt(() => fetchParts(["head", "gate"]));
  return head().status !== box.dataset.status;
}

/** A comment is refused without words: the note is where they go. */
const isNoteMissing = (form, event) => event.submitter?.value === "comment" && !form.elements.note?.value.trim();

// what leaves the decision about the task open
const STAYS = new Set(["waive", "resolve", "reopen", "reply", "comment"]);
const stillWaits = (name) => (STAYS.has(name) && head().status === "waiting_approval" ? ` T${task} still waits for your decision.` : "");

async function act(form, box) {
  const reply = await REQUESTS[box.id](form, box.dataset.commit);
  return box.id === "handoff" ? showHandoff(box, reply) : OUTCOMES[box.id](reply);
}

/** Afterwards there is nothing left to send: the dialog shows what the reviewer needs, and can be closed. */
function markHandedOver(box, isDone) {
  box.querySelector("[data-result]").hidden = !isDone;
  for (const one of box.querySelectorAll(".check, button.primary")) one.hidden = isDone;
  box.querySelector("[data-close]").textContent = isDone ? "Close" : "Cancel";
}

function showHandoff(box, { checkout, file, prompt }) {
  box.querySelector("[data-checkout]").textContent = checkout;
  box.querySelector("[data-file]").textContent = file;
  box.querySelector("[data-prompt]").value = prompt;
  markHandedOver(box, true);
  box.querySelector("[data-prompt]").select();
  for (const name of ["head", "story"]) refresh(name);
  return "";
}

const sendReview = (text, verdict) => api("POST", `${path}/review-from`, { text, ...(verdict ? { verdict } : {}) });

/** What an external review did to the task, in words. */
function recorded({ status, open_findings: open }) {
  const then = { verified: "it is approved", waiting_approval: "it waits for your decision" }[status];
  const left = open ? `${open} ${open === 1 ? "finding is" : "findings are"} open` : "";
  return `Recorded the review of T${task}${then || left ? `: ${then ?? left}` : ""}.`;
}

// true also while the run waits for a free slot
const SENT = {
  secret: `T${task} goes back to the agent, which removes the secret.`,
  conflict: `T${task} goes back to the agent, which resolves the conflicts.`,
};

/** Sends the form that answers the state of the task; returns what happened, in words. */
async function answer(form) {
  const { note, usd, tokens, text, verdict } = form.elements;
  switch (form.dataset.answer) {
    case "note":
      await api("POST", `${path}/improve`, { note: note.value, review: true });
      return `T${task} continues with your words.`;
    case "budget":
      await api("POST", `${path}/retry`, usd ? { budget_usd: Number(usd.value) } : { budget_tokens: Number(tokens.value) });
      return `Raised the limit of T${task}; it continues.`;
    case "outside":
      return recorded(await sendReview(text.value, verdict.value));
    default:
      await api("POST", path + (head().status === "verified" ? "/rebase" : "/retry"), {});
      return SENT[form.dataset.answer] ?? `T${task} continues.`;
  }
}

/** Sends the decision of the gate; returns what happened, in words. */
async function decide(form, choice) {
  const grounds = choice === "approve" && form.dataset.against ? groundsOf(form) : undefined;
  if (grounds && !grounds.explain.trim() && !Object.entries(grounds).some(([name, yes]) => yes === true && name !== "follow_up")) {
    const reasons = form.querySelector(".against");
    const isAsked = reasons.hidden;
    reasons.hidden = false;
    form.querySelector(".gate-details").open = false;
    markMainButton(form);
    reasons.querySelector("input").focus({ preventScroll: true });
    if (isAsked) return "";
    throw new Problem({ title: "Choose a reason, or explain it.", detail: "Then approve again." });
  }
  const { commit, status } = form.dataset;
  const note = grounds ? "" : form.elements.note.value;
  if (choice === "request_changes" && !hasWords(form, choice)) {
    form.elements.note.focus();
    throw new Problem(form.dataset.question
      ? { title: "Your answer is empty.", detail: "Write what the reviewer asks for." }
      : { title: "No finding is open.", detail: "Write what the agent should change." });
  }
  const isReview = ["approve", "request_changes", "comment"].includes(choice) && !form.dataset.plan;
  const answer = isReview
    ? await api("POST", `${path}/draft/send`, { verdict: choice, note, commit, ...(grounds ? { grounds } : {}) })
    : await api("POST", `${path}/decide`, { choice, note, commit, status });
  form.removeAttribute("data-touched");
  // the decision alone does not start the fix
  const isSentBack = choice === "fix" || (choice === "request_changes" && answer.task.status === "in_progress");
  const isStarted = isSentBack && !head().running && (await attempt(() => api("POST", `${path}/run`, {})));
  isFixStarted = isStarted;
  const findings = (answer.findings ?? []).map((one) => one.id).join(", ");
  return DECIDED[choice]({ commit: commit.slice(0, 10), findings, isStarted, isAnswer: form.dataset.question, isAgainst: grounds, note });
}

const DECIDED = {
  approve: ({ commit, findings, isAgainst, note }) =>
    `Approved T${task} at ${commit}${isAgainst ? " against its review" : ""}${findings ? `; your comments are ${findings}` : ""}.` +
    (note.trim() ? " Your note is in its history; no agent acts on it." : ""),
  request_changes: ({ findings, isStarted, isAnswer }) => isAnswer
    ? `Answered T${task}${findings ? ` (${findings})` : ""}${isStarted ? ": the agent gets your answer" : ""}.`
    : `Requested changes to T${task}${findings ? ` (${findings})` : ""}${isStarted ? ": the agent gets them" : ""}.`,
  comment: ({ findings }) => `Commented on T${task}: ${findings}.`,
  fix: () => `T${task} is being written again.`,
  reject: () => `Rejected T${task}. Nothing runs until you say what to do.`,
  skip: () => `Accepted T${task} without a review.`,
};

// what starts a run, whose end is told, too
const RUNS = new Set(["note", "budget", "secret", "conflict", "improve", "apply"]);
// what closes a finding is taken back by reopening it, and the other way round
const ruling = (which, rule, body) => async () => {
  await api("POST", `${path}/findings/${which}/${rule}`, body);
  for (const name of ["head", "gate", "story", "findings", "changes"]) refresh(name);
};
const reopening = () => ruling(finding, "reopen", { reason: "Undone." });
const UNDONE = {
  waive: reopening,
  resolve: reopening,
  reopen: () => closed && ruling(finding, closed.rule, closed.body),
};

const OUTCOMES = {
  improve: () => `T${task} is being improved.`,
  merge: () => `Merged T${task}.`,
  override: () => `Approved T${task} against its review.`,
  done: () => `Closed T${task}.`,
  outside: (reply) => recorded(reply),
  waive: () => `Waived ${finding}.`,
  apply: (reply) =>
    `Applied ${reply.findings.map((one) => one.id).join(", ")} as commit ${reply.commit.slice(0, 10)}. ` +
    (reply.isStarted ? "Checks and a review are under way." : "Checks and a review follow with the next run."),
  resolve: () => `Resolved ${finding}.`,
  reopen: () => `Reopened ${finding}.`,
  reply: () => `Replied to ${finding}.`,
};

const REQUESTS = {
  improve: (form) => api("POST", `${path}/improve`, { note: form.elements.note.value, review: form.elements.review.checked }),
  merge: (form, commit) => api("POST", `${path}/merge`, { commit, how: form.elements.how.value }),
  override: (form, commit) => api("POST", `${path}/override`, { commit, grounds: groundsOf(form) }),
  done: (form, commit) => {
    const grounds = groundsOf(form);
    return api("POST", `${path}/done`, { ...(commit ? { commit } : {}), ...(grounds ? { grounds } : {}) });
  },
  handoff: (form) => api("POST", `${path}/handoff`, { force: form.elements.force.checked }),
  outside: ({ elements }) => sendReview(elements.text.value, elements.verdict.value),
  waive: (form) => {
    const until = form.elements.until.value;
    return api("POST", `${path}/findings/${finding}/waive`, { reason: form.elements.reason.value, ...(until ? { until } : {}) });
  },
  apply: async (form, commit) => {
    const findings = [...form.querySelectorAll("[name=finding]:checked")].map((one) => one.value);
    const reply = await api("POST", `${path}/apply`, { findings, commit });
    return { ...reply, isStarted: await attempt(() => api("POST", `${path}/run`, {})) };
  },
  reopen: async (form) => {
    const { status } = head();
    const reply = await api("POST", `${path}/findings/${finding}/reopen`, { reason: form.elements.reason.value });
    // an approval that became void does not come back
    if (reply.task_status !== status) closed = null;
    return reply;
  },
  resolve: (form) => api("POST", `${path}/findings/${finding}/resolve`, { reason: form.elements.reason.value }),
  reply: (form) => api("POST", `${path}/findings/${finding}/reply`, { text: form.elements.text.value }),
};
