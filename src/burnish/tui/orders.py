"""Carry out what a person does to a task from the terminal: one feature for each act."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.core.status import Status
from burnish.core.task import Task
from burnish.errors import BadInput, BurnishError
from burnish.tui.acts import STARTED, Order
from burnish.views.status import stands

if TYPE_CHECKING:
    from burnish.runtime.app import App

VIA = "tui"
_DONE = {"approve": "Approved", "reject": "Rejected", "fix": "Sent back", "skip": "Accepted"}


class NotMerged(BurnishError):
    """Some of several tasks were not merged."""

    def __init__(self, what: str, ids: Sequence[int], *, hint: str) -> None:
        super().__init__(what, hint=hint)
        self.ids = ids


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
    return f"Approved task {task.id} with your reasons: it {stands(task.status)}."


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
        # the last one names the file that has the text now
        raise BurnishError(error.what, hint=" ".join([error.hint, *reports[-1:]])) from error
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
    limit = TaskLimit(tokens=int(number)) if unit == "tokens" else TaskLimit(usd=float(number))
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
    remaining_ids = [task.id for task, _ in result.left]
    what = f"{merged_words} Not merged: {', '.join(f'T{number}' for number in remaining_ids)}."
    raise NotMerged(what, remaining_ids, hint=result.left[0][1].what)


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
