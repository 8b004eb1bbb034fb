"""What a person does to a task from the terminal: one feature for each act. Runs are processes of their own."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.core.review import Verdict
from burnish.core.status import Reason, Status
from burnish.core.task import PAUSABLE, Task
from burnish.errors import BadInput, BurnishError
from burnish.views.board_moves import ACTS, RUNNING

if TYPE_CHECKING:
    from burnish.core.override import OverrideReasons
    from burnish.runtime.app import App
    from burnish.tui.project import TaskDetails

_ABOUT = {
    "approve": "Accepts the commit that is shown.",
    "reject": "Blocks the task; nothing is merged.",
    "fix": "Sends it back to the agent with your note.",
    "skip": "Accepts it without a review.",
    "waive": "Accepts one finding.",
    "edit": "Opens the change in $EDITOR, to comment on lines.",
    "describe": "Says more clearly what is wanted.",
    "tag": "Sets the tags of the task.",
}
VIA = "tui"
# how the sentence ends about an act after which a run works on the task
STARTED = ("It runs in the background.", "The run that is under way takes it up.", "A run works on it.")
# the acts after which one does
STARTING = ("fix", "improve", "raise", "retry", "restart", "run", "goon", "ask", "review", "rebase")
LABELS = {
    "approve": "Approve",
    "reject": "Reject",
    "fix": "Fix",
    "skip": "Skip",
    "override": "Override",
    "improve": "Improve",
    "describe": "Describe",
    "comment": "Comment",
    "edit": "In editor",
    "run": "Start",
    "goon": "Continue",
    "ask": "Review",
    "raise": "Raise and retry",
    "retry": "Retry",
    "review": "Review",
    "restart": "Start again",
    "pause": "Pause",
    "unpause": "Unpause",
    "stop": "Stop",
    "cancel": "Cancel",
    "back": "Put back",
    "archive": "Archive",
    "tag": "Tags",
    "merge": "Merge",
    "merge-all": "Merge all",
    "rebase": "Resolve",
    "waive": "Waive",
}
# what each key does: the first of these that is possible
_KEYS = {
    "a": ("approve", "override"),
    "m": ("rebase", "merge"),
    "r": ("reject",),
    "f": ("fix", "describe", "improve"),
    "s": ("skip",),
    "g": ("run", "goon", "ask", "raise", "retry"),
    "c": ("comment",),
    "e": ("edit",),
    "w": ("waive",),
    "v": ("review",),
    "p": ("unpause", "pause"),
    "x": ("stop",),
    "R": ("restart",),
}
# an act of these keys asks for a text
KEYS_WITH_TEXT = "rfcw"
_DONE = {"approve": "Approved", "reject": "Rejected", "fix": "Sent back", "skip": "Accepted"}


@dataclass(frozen=True, slots=True)
class Order:
    """An act on a task as the person saw it."""

    act: str
    task: int
    # what was shown; a decision about another commit or in another status is refused
    commit: str = ""
    status: Status | None = None
    text: str = ""
    grounds: OverrideReasons | None = None
    # the text answers a question of the reviewer
    is_answer: bool = False
    # what the key was called on the screen
    shown_label: str = ""

    @property
    def label(self) -> str:
        return self.shown_label or LABELS.get(self.act, self.act)


def acts_of(details: TaskDetails) -> list[tuple[str, str]]:
    """What is possible now, each with what it means."""
    possible = [button.name for button in details.head.buttons]
    if answer := details.head.answer:
        # the page of the board has a form in place of this button
        is_approved = details.task.status is Status.VERIFIED
        possible.append(
            {"note": "improve", "budget": "raise", "conflict": "rebase" if is_approved else "retry"}.get(
                answer.kind, "retry"
            )
        )
    if details.task.status is Status.WAITING_APPROVAL:
        gate = details.gate.shown if details.gate else None
        possible += ["approve", "reject", "fix", *(["skip"] if gate and gate.may_skip else [])]
    if details.task.status in PAUSABLE and not details.task.is_paused and "pause" not in possible:
        possible.append("pause")
    if details.head.needs_description:
        possible.append("describe")
    if any(view.finding.alive for view in details.findings) and details.head.standing not in RUNNING:
        possible.append("waive")
    if "comment" in possible and details.head.commit:
        possible.append("edit")
    possible.append("tag")
    order = [act for act in LABELS if act in possible]
    return [(act, _ABOUT.get(act) or (ACTS[act].words if act in ACTS else "")) for act in order]


def act_for_key(key: str, details: TaskDetails) -> str:
    possible = [act for act, _ in acts_of(details)]
    return next((act for act in _KEYS[key] if act in possible), "")


def key_of(act: str, details: TaskDetails) -> str:
    """The key that does it now; "" if it has none."""
    return next((key for key in _KEYS if act_for_key(key, details) == act), "")


def keys_of(details: TaskDetails) -> list[tuple[str, str]]:
    """The keys that do something now, with their labels."""
    acts = [(key, act_for_key(key, details)) for key in _KEYS]
    return [(key, label_of(act, details)) for key, act in acts if act]


# keys of pages and lists that show what a command prints
_SHOWN_BY = {"show": "o", "diff": "d", "findings": "i", "inbox": "2", "list": "1"}
_SHOWN_BY |= dict.fromkeys(("log", "log --phase review"), "t")
# the acts that a command stands for
_DONE_BY: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("run", "retry"), ("run", "goon", "raise", "retry")),
    "retry --restart": ("restart",),
    "review": ("review", "ask"),
    **{name: (name,) for name in ("unpause", "pause", "stop", "merge", "rebase", "override")},
    **{f"decide {name}": (name,) for name in ("approve", "reject", "fix")},
}
_COMMAND = re.compile(
    r"(?P<quote>`?)burnish (?P<verb>[a-z]+)(?P<id> \d+)?(?P<rest> --restart| --phase review| approve| reject| fix)?"
    r"(?P=quote)(?! [-\"']| F\d)"
)


def with_keys(text: str, details: TaskDetails) -> str:
    """The text with the key in place of each command for this task that a key stands for now."""

    def key_for(match: re.Match[str]) -> str:
        is_complete = match["id"] or match["quote"] or match["verb"] in ("inbox", "list")
        if not is_complete or (match["id"] or "").strip() not in ("", str(details.task.id)):
            return match[0]
        command = f"{match['verb']}{match['rest'] or ''}"
        possible = [act for act, _ in acts_of(details)]
        acts = (act for act in _DONE_BY.get(command, ()) if act in possible)
        key = _SHOWN_BY.get(command) or next((key for act in acts if (key := key_of(act, details))), "")
        is_first = match.string[: match.start()].rstrip()[-1:] in ("", ".")
        return f"{'Key' if is_first else 'key'} {key}" if key else match[0]

    return _COMMAND.sub(key_for, text)


def label_of(act: str, details: TaskDetails) -> str:
    if act in ("fix", "improve") and question_of(details):
        return "Answer"
    # what a retry does here
    if act == "retry" and details.task.reason in _RETRIES:
        return _RETRIES[details.task.reason]
    return LABELS[act]


_RETRIES = {Reason.SECRET: "Remove secret", Reason.CONFLICT: "Resolve"}


def question_of(details: TaskDetails) -> str:
    """What the review asks a person; "" if it asks nothing."""
    if details.gate:
        shown = details.gate.shown
        return shown.summary if shown.verdict == Verdict.NEEDS_DISCUSSION else ""
    return details.head.note if details.task.reason is Reason.NEEDS_DISCUSSION else ""


def opposite(order: Order, task: Task) -> Order | None:
    """The legal act that takes this one back; `task` as it was before."""
    back = replace(order, status=None, commit="", text="", shown_label="")
    match order.act:
        case "archive":
            return replace(back, act="unarchive")
        case "pause" | "unpause":
            return replace(back, act="unpause" if order.act == "pause" else "pause")
        case "cancel" if task.status is Status.BACKLOG:
            # it has nothing but its text, so nothing is lost
            return replace(back, act="back")
        case "back" if task.status is Status.CANCELLED:
            return replace(back, act="cancel")
        case "waive":
            return replace(back, act="reopen", text=order.text.partition(" ")[0])
        case "tag":
            return replace(back, act="tag", text=" ".join(task.spec.tags))
        case "describe":
            return replace(back, act="describe", text=task.spec.description)
    return None


def carry_out(start: Path, order: Order, report: Callable[[str], None] = lambda words: None) -> str:
    """Do it with the settings as they are now; returns what happened, in a sentence.

    `report` is told how far an act is that takes long.
    """
    from burnish.runtime import open_app, refuse_inside_phase

    refuse_inside_phase()
    app = open_app(start)
    try:
        return _merge_all(app, order, report) if order.act == "merge-all" else _ACTS[order.act](app, order)
    finally:
        app.store.close()


def _decide(app: App, order: Order) -> str:
    from burnish.core.gate import GateChoice, GateDecision
    from burnish.features.decide.decisions import decide

    choice = GateChoice(order.act)
    statuses = (order.status,) if order.status else (Status.WAITING_APPROVAL,)
    answer = GateDecision(choice, order.text, order.commit, order.grounds, among=statuses)
    task = decide(app, order.task, answer, via=VIA)
    if choice is GateChoice.FIX:
        return f"{'Answered' if order.is_answer else 'Sent back'} task {task.id}. {_start(app, task)}"
    if choice is GateChoice.APPROVE and order.grounds:
        return f"Approved task {task.id} against its review: it {stands(task.status)}."
    if choice is GateChoice.SKIP:
        return f"Accepted task {task.id} without a review: it {stands(task.status)}."
    return f"{_DONE[choice]} task {task.id}: it {stands(task.status)}."


def _override(app: App, order: Order) -> str:
    from burnish.features.decide.decisions import override

    task = override(app, order.task, order.grounds, commit=order.commit, via=VIA)
    return f"Approved task {task.id} against its review: it {stands(task.status)}."


def _improve(app: App, order: Order) -> str:
    from burnish.features.decide.decisions import improve

    task = improve(app, order.task, order.text, review=True, via=VIA)
    return f"Task {task.id} gets one more cycle. {_start(app, task)}"


def _comment(app: App, order: Order) -> str:
    from burnish.features.tasks.edit import comment_on

    if not order.text.strip():
        raise BadInput("The comment is empty.", hint="Type what the agent should settle.")
    before = app.store.task(app.key, order.task)
    if before.status is Status.WAITING_APPROVAL:
        return _remark(app, order)
    finding = comment_on(app, order.task, order.text, via=VIA)
    after = app.store.task(app.key, order.task)
    is_open_again = before.status is not after.status
    effect = f" It was {before.status.value} and is open again: g lets the agent settle it." if is_open_again else ""
    return f"Commented on task {order.task} ({finding.id}).{effect}"


def review_in_editor(start: Path, number: int) -> str:
    """Let the person comment on lines in the editor, which has the terminal meanwhile; returns what happened.

    Changes that are asked for are worked on at once.
    """
    from burnish.features.review.edit_form import review_in_editor
    from burnish.runtime import open_app

    app = open_app(start)
    reports: list[str] = []
    try:
        form = review_in_editor(app, number, reports.append, via=VIA)
        if form.outcome is None:
            comments = f"{form.draft_count} comment{'s' * (form.draft_count != 1)}"
            return f"Saved {comments} as a draft." if form.review else f"{form.reason}, so nothing is sent."
        ids = ", ".join(finding.id for finding in form.outcome.findings)
        words = f"Sent your review of task {number}{f' ({ids})' if ids else ''}"
        if form.outcome.task.status is Status.IN_PROGRESS:
            return f"{words}. {_start(app, form.outcome.task)}"
        return f"{words}: it {stands(form.outcome.task.status)}."
    except BurnishError as error:
        raise BurnishError(error.what, hint=" ".join([error.hint, *reports])) from error
    finally:
        app.store.close()


def _remark(app: App, order: Order) -> str:
    """Comment at the gate: as on the board, the task stays there, and drafts of comments are sent with it."""
    from burnish.features.review.person_review import ReviewVerdict, send_review

    outcome = send_review(app, order.task, ReviewVerdict.COMMENT, note=order.text, commit=order.commit, via=VIA)
    ids = ", ".join(one.id for one in outcome.findings)
    return f"Commented on task {order.task} ({ids}). It still waits for your decision."


def _retry(app: App, order: Order) -> str:
    from burnish.features.tasks.edit import retry_task

    app.trust.require()
    task = retry_task(app, order.task, restart=order.act == "restart")
    return f"Continued task {task.id}. {_start(app, task)}"


def _raise(app: App, order: Order) -> str:
    """Retry with a higher limit: `12.50` in USD, or `tokens 30000`."""
    from burnish.features.tasks.edit import TaskLimit, retry_task

    unit, _, number = order.text.strip().rpartition(" ")
    try:
        limit = TaskLimit(tokens=int(number)) if unit == "tokens" else TaskLimit(usd=float(number))
    except ValueError as error:
        raise BadInput(f"{number!r} is not a number.", hint="Give the limit as a number, for example 12.50.") from error
    app.trust.require()
    task = retry_task(app, order.task, restart=False, limit=limit)
    return f"Raised the limit of task {task.id}. {_start(app, task)}"


def _run(app: App, order: Order) -> str:
    return f"Task {order.task}: {_start(app, app.store.task(app.key, order.task))}"


def _review(app: App, order: Order) -> str:
    from burnish.features.tasks.edit import review_again

    return f"Review of task {order.task}: {_start(app, review_again(app, order.task))}"


def _describe(app: App, order: Order) -> str:
    from burnish.features.tasks.edit import edit_task

    task = edit_task(app, order.task, {"description": order.text}, status=None)
    return f"Changed the description of task {task.id}."


def _pause(app: App, order: Order) -> str:
    from burnish.features.tasks.edit import pause_task

    is_pause = order.act == "pause"
    task = pause_task(app, order.task, is_pause=is_pause)
    is_running = task.runner is not None and task.status in (Status.IN_PROGRESS, Status.CODE_REVIEW)
    later = " when its phase has ended" if is_pause and is_running else ""
    return f"Task {task.id} is paused{later}." if is_pause else f"Task {task.id} is not paused any more."


def _stop(app: App, order: Order) -> str:
    from burnish.features.run.stop import stop

    stop(app, order.task)
    return f"Stopping task {order.task}; its work is kept."


def _cancel(app: App, order: Order) -> str:
    from burnish.features.tasks.edit import cancel_task

    return f"Cancelled task {cancel_task(app, order.task).id}; its work is kept."


def _put_back(app: App, order: Order) -> str:
    from burnish.features.tasks.edit import edit_task

    task = edit_task(app, order.task, {}, status=Status.BACKLOG.value)
    return f"Task {task.id} is in the backlog again."


def _archive(app: App, order: Order) -> str:
    from burnish.features.tasks.edit import edit_task

    is_archived = order.act == "archive"
    task = edit_task(app, order.task, {"archived": is_archived}, status=None)
    return f"Archived task {task.id}." if is_archived else f"Task {task.id} is back from the archive."


def _tag(app: App, order: Order) -> str:
    from burnish.features.tasks.edit import edit_task

    names = tuple(order.text.replace(",", " ").split())
    task = edit_task(app, order.task, {"tags": names}, status=None)
    return f"Tags of task {task.id}: {', '.join(task.spec.tags) or 'none'}."


def _reopen(app: App, order: Order) -> str:
    from burnish.features.tasks.edit import reopen_finding

    reopen_finding(app, order.task, order.text, reason="Undone.")
    return f"Reopened {order.text} of task {order.task}."


def _merge(app: App, order: Order) -> str:
    from burnish.features.merge.merge import MergeRequest, merge
    from burnish.runtime.ports import NullProgress

    report = merge(app, MergeRequest((order.task,), seen=order.commit), NullProgress())
    for _, error in report.left:
        after = app.store.task(app.key, order.task)
        if after.status is Status.WAITING_APPROVAL:
            what = f"Task {after.id} is not merged: together with {after.target} it waits for your decision."
            raise BurnishError(what, hint=f"Look at task {after.id} again, then approve it (a) and merge it (m).")
        raise error
    merged_task = report.landed[0]
    return f"Merged task {order.task} into {merged_task.into} at {merged_task.commit[:12]}."


def _merge_all(app: App, order: Order, report: Callable[[str], None]) -> str:
    """Merge the tasks that the person saw; those that cannot be merged are in the inbox again, with the reason."""
    from burnish.features.merge.merge import MergeRequest, merge
    from burnish.runtime.ports import NullProgress

    ids = tuple(int(number) for number in order.text.split())

    def begin(number: int, place: int) -> None:
        report(f"Merging T{number}, {place} of {len(ids)}")

    result = merge(app, MergeRequest(ids), NullProgress(), begin)
    merged_ids = [f"T{one.task.id}" for one in result.landed]
    merged_words = f"Merged {len(result.landed)} of {len(ids)} tasks"
    merged_words += f": {', '.join(merged_ids)}." if merged_ids else "."
    if not result.left:
        return merged_words
    remaining_ids = [f"T{task.id}" for task, _ in result.left]
    raise BurnishError(f"{merged_words} Not merged: {', '.join(remaining_ids)}.", hint=result.left[0][1].what)


def _rebase(app: App, order: Order) -> str:
    from burnish.features.merge.rebase import order_rebase

    rebase = order_rebase(app, order.task, via=VIA)
    if rebase.merge is None:
        return f"Task {order.task}: {rebase.words}"
    return f"Task {order.task}: {rebase.words}. {_start(app, app.store.task(app.key, order.task))}"


def _waive(app: App, order: Order) -> str:
    from burnish.features.tasks.edit import waive_finding

    finding, _, reason = order.text.partition(" ")
    waive_finding(app, order.task, finding, reason=reason)
    task = app.store.task(app.key, order.task)
    return f"Waived {finding} of task {order.task}: it {stands(task.status)}."


def _start(app: App, task: Task) -> str:
    """Start a run in the background, unless one takes the task up by itself."""
    from burnish.features.run.detach import start_detached

    if _is_run_standing(app):
        return STARTED[1]
    before = app.store.task(app.key, task.id)
    try:
        start_detached(app, ["run", str(task.id)])
    except BurnishError:
        after = app.store.task(app.key, task.id)
        if after.runner and not app.event_log.is_dead(after.runner):
            return STARTED[2]
        if after == before:
            raise
        # the run has worked on the task and has ended already: the task tells how
    return STARTED[0]


def _is_run_standing(app: App) -> bool:
    """Whether a live run takes up whatever becomes ready."""
    cards = [card for card in app.store.runners() if card.get("project") == app.key]
    commands = [str(card.get("command", "")).split() for card in cards if not app.event_log.is_dead(str(card["id"]))]
    return any("--watch" in words or "--all" in words for words in commands)


def status_words(status: Status) -> str:
    return "waits for approval" if status is Status.WAITING_APPROVAL else status.value.replace("_", " ")


def stands(status: Status) -> str:
    """`is blocked`: the status as a part of a sentence."""
    return _STANDS.get(status) or f"is {status_words(status)}"


_STANDS = {
    Status.WAITING_APPROVAL: status_words(Status.WAITING_APPROVAL),
    Status.FAILED: "has failed",
    Status.CODE_REVIEW: "is in review",
    Status.BACKLOG: "is in the backlog",
}


def _mark_viewed(app: App, order: Order) -> str:
    from burnish.features.review.person_review import mark_viewed

    path, _, blob = order.text.rpartition("\n")
    mark_viewed(app, order.task, path, blob, is_viewed=order.act == "viewed")
    return f"{'Viewed' if order.act == 'viewed' else 'Not viewed:'} {path}."


_ACTS: dict[str, Callable[[App, Order], str]] = {
    **dict.fromkeys(_DONE, _decide),
    "override": _override,
    "improve": _improve,
    "comment": _comment,
    "raise": _raise,
    "retry": _retry,
    "restart": _retry,
    "run": _run,
    "goon": _run,
    "ask": _review,
    "review": _review,
    "describe": _describe,
    "pause": _pause,
    "unpause": _pause,
    "stop": _stop,
    "cancel": _cancel,
    "back": _put_back,
    "archive": _archive,
    "unarchive": _archive,
    "tag": _tag,
    "reopen": _reopen,
    "merge": _merge,
    "rebase": _rebase,
    "waive": _waive,
    "viewed": _mark_viewed,
    "unviewed": _mark_viewed,
}
