"""`burnish review 29 --from FILE`: a person's or another tool's review, read, checked and written down."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from burnish.adapters.agents import StopTokens
from burnish.adapters.task_files import HomeTaskFiles
from burnish.checks.reading import Reading
from burnish.checks.report_formats import FILE_FORMATS
from burnish.core.commit import Commit
from burnish.core.finding import Remark, Severity
from burnish.core.history import History
from burnish.core.review import Review, Unreadable, Verdict
from burnish.core.task import Task
from burnish.engine import external_review as outside
from burnish.engine.ports import Deps, Progress
from burnish.engine.review_input import ReviewInput, review_input
from burnish.engine.task_setup import TaskSetup
from burnish.errors import BadInput, Refused
from burnish.features.review.handoff import CALL_LABEL, OUTSIDE, asked, site_of
from burnish.proc.identity import hold
from burnish.review.context import coverage
from burnish.review.external.reader import (
    complete_approval,
    has_block,
    is_without_reason,
    named_commits,
    read_contract,
    read_markdown,
    verdict_origin,
)
from burnish.runtime.ports import deps_for, registered_runner
from burnish.runtime.reader import refuse_inside_phase
from burnish.runtime.requests import RunRequest
from burnish.runtime.signals import stopping_on_signals

if TYPE_CHECKING:
    from burnish.runtime.app import App

# formats of reports that can be a review
REPORT_FORMATS = ("sarif", "rdjson", "rdjsonl")
# matching more findings across cycles takes minutes
MAX_REMARKS = 2000


@dataclass(frozen=True, slots=True)
class ReviewFile:
    """What the person gave: a file, and what was typed beside it."""

    # as it is called in messages
    name: str
    text: str
    verdict: Verdict | None = None
    commit: str | None = None


@dataclass(frozen=True, slots=True)
class ImportedReview:
    """The task afterwards, and what was read from the file."""

    task: Task
    reading: dict[str, object]


def bring_review(app: App, task_id: int, review_file: ReviewFile, progress: Progress) -> ImportedReview:
    """Record an external review. Raises before anything changes."""
    refuse_inside_phase()
    stops = StopTokens()
    with hold(app.locks) as lock, stopping_on_signals(stops, progress.note):
        deps = deps_for(app, RunRequest(), progress, stops, lock.runner.uuid)
        with deps.task_files.lock(f"outside-{task_id}"):
            by_hand = replace(deps, event_log=app.event_log)
            site, external_review, head = _checked(app, by_hand, task_id, review_file)
            _hand_over(app, by_hand, site, external_review, head)
            deps.failpoint("outside-handed")
            outside.check_first(by_hand, site)
            external_review = _in_person(by_hand, site, external_review)
            outside.take(by_hand, site, external_review)
            deps.failpoint("outside-taken")
            with registered_runner(app.store, lock):
                _settle(deps, site)
    return ImportedReview(app.store.task(app.key, task_id), external_review.reading())


def _checked(
    app: App, deps: Deps, task_id: int, review_file: ReviewFile
) -> tuple[TaskSetup, outside.ExternalReview, Commit]:
    history = app.event_log.history(task_id)
    app.event_log.refuse_if_held(task_id)
    site = site_of(app, deps, history.task)
    head = outside.refuse_unreviewable(history, site.workspace.head(), site.base.tree)
    kind = kind_of(review_file)
    _refuse_moved(history, head, review_file, kind)
    review = _read(app, deps, site, history, head, review_file, kind)
    outside.refuse_against_rejection(history, head.tree, review)
    if is_without_reason(review):
        raise BadInput(
            f"{review_file.name} asks for changes but does not say which.",
            hint="Write what is to be changed, e.g. `- src/a.py:45: what is wrong`.",
        )
    external_review = outside.ExternalReview(
        review, app.person, review_file.text, kind.rstrip("l"), review_file.name, _origin(review_file, kind)
    )
    return site, external_review, head


def _origin(review_file: ReviewFile, kind: str) -> str:
    """Where the verdict comes from, for people."""
    if kind == "contract":
        return "the field `verdict`"
    if kind == "markdown":
        return verdict_origin(review_file.text)
    return "--verdict" if review_file.verdict else "the errors"


def kind_of(review_file: ReviewFile) -> str:
    """By what it holds, not by its name."""
    text = review_file.text.lstrip("\ufeff \t\r\n")
    if not text.strip():
        raise BadInput(f"{review_file.name} is empty: there is no review in it.", hint="Nothing was changed.")
    if not text.startswith("{"):
        return "markdown"
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as why:
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        if len(lines) > 1 and all(line.startswith("{") and line.endswith("}") for line in lines):
            return "rdjsonl"
        raise BadInput(
            f"{review_file.name} is not valid JSON: {str(why)[:200]}",
            hint="Nothing was changed. Correct the file at that place.",
        ) from None
    for kind, key in (("contract", "verdict"), ("sarif", "runs"), ("rdjson", "diagnostics"), ("rdjsonl", "message")):
        if key in value:
            return kind
    raise BadInput(
        f"{review_file.name} is JSON in an unknown format.",
        hint="Known: the review contract, SARIF 2.1.0, rdjson. `burnish handoff` shows the contract.",
    )


def _refuse_moved(history: History, head: Commit, review_file: ReviewFile, kind: str) -> None:
    """The review is of a commit: the one named, else the one that is on record as this cycle's."""
    task = history.task
    if review_file.commit and len(review_file.commit) < 7:
        raise BadInput(f"{review_file.commit!r} is too short for a commit.", hint="Give seven digits of it or more.")
    tip = history.tip(history.cycle)
    commits = [review_file.commit] if review_file.commit else named_commits(review_file.text, kind)
    for reviewed_commit in commits or [tip.result.commit if tip else ""]:
        if not reviewed_commit or not head.sha.startswith(reviewed_commit.lower()):
            raise Refused(
                f"The branch of task {task.id} is at {head.sha[:12]}, "
                f"the review is of {reviewed_commit[:12] or 'another commit'}.",
                hint=f"Review what is there now, then: burnish review {task.id} --from … --commit {head.sha[:12]}",
            )


def _read(
    app: App, deps: Deps, site: TaskSetup, history: History, head: Commit, review_file: ReviewFile, kind: str
) -> Review:
    if kind in REPORT_FORMATS:
        return _reported(app, review_file, kind)
    subject = review_input(deps, site, history, history.cycle)
    number = _number(deps, site, history, head)
    expect = subject.context(site.policy, OUTSIDE, number).expect(app.person)
    if kind == "contract":
        reading = read_contract(review_file.text, number=number, expect=expect)
        if isinstance(reading, Review) and review_file.verdict not in (None, reading.verdict):
            reading = Unreadable(f"it says {reading.verdict}, and --verdict says {review_file.verdict}", "")
    else:
        reading = read_markdown(review_file.text, verdict=review_file.verdict, number=number, expect=expect)
    if isinstance(reading, Unreadable):
        raise _unreadable(review_file, reading.why)
    return replace(reading, remarks=existing_places(reading.remarks, subject.change.paths, subject.text_of))


def _unreadable(review_file: ReviewFile, why: str) -> BadInput:
    hint = "Put `Verdict: approved` or `Verdict: changes requested` on a line of its own."
    if "number" in why:
        hint = "Answer the prompt of the newest `burnish handoff`, or leave the number out."
    elif review_file.text.lstrip()[:1] == "{":
        hint = "Correct that in the JSON; the prompt of `burnish handoff` shows the whole form."
    return BadInput(f"{review_file.name} cannot be taken as a review: {why}.", hint=f"Nothing was changed. {hint}")


def _number(deps: Deps, site: TaskSetup, history: History, head: Commit) -> str:
    """The secret number that this cycle was handed over with, if it was."""
    cycle = outside.cycle_for(history, site.policy, head)
    assert isinstance(deps.task_files, HomeTaskFiles)
    call = deps.task_files.known_call(history.task, cycle, "review", outside.attempt_for(history, cycle), CALL_LABEL)
    return call.number() if call and call.prompt() else ""


def _reported(app: App, review_file: ReviewFile, kind: str) -> Review:
    """A review from a tool's report. Errors request changes; without errors the person gives the verdict."""
    report = FILE_FORMATS[kind](review_file.text.encode("utf-8", "replace"), app.person, None, None)
    too_many = f"it reports {len(report.remarks):,} problems, more than {MAX_REMARKS:,}"
    if why := report.error or (too_many if len(report.remarks) > MAX_REMARKS else ""):
        raise BadInput(
            f"{review_file.name} cannot be taken as a review: {why}.",
            hint="Nothing was changed. Create the report again with the tool.",
        )
    errors = sum(remark.severity is Severity.ERROR for remark in report.remarks)
    if errors and review_file.verdict is Verdict.APPROVED:
        raise BadInput(
            f"{review_file.name} reports {errors} error{'s' * (errors != 1)}: it cannot approve.",
            hint="Take it without --verdict, then waive what is wrong: burnish waive",
        )
    verdict = review_file.verdict or (Verdict.CHANGES_REQUESTED if errors else None)
    if verdict is None:
        raise BadInput(
            f"{review_file.name} reports no error, and it has no verdict of its own.",
            hint="Add a verdict: --verdict approved, or --verdict changes_requested",
        )
    return Review(verdict, _summary(report, errors), remarks=report.remarks)


def _summary(report: Reading, errors: int) -> str:
    found = len(report.remarks)
    whose = report.tool or "The tool"
    return f"{whose} reports {found} problem{'s' * (found != 1)}, {errors} of them errors."


def _hand_over(app: App, deps: Deps, site: TaskSetup, external_review: outside.ExternalReview, head: Commit) -> None:
    history = app.event_log.history(site.task_id)
    approval = app.event_log.approval(site.task_id)
    events = outside.hand_over(
        history,
        site.policy,
        head,
        site.base,
        by=app.person,
        why=f"{external_review.by} brought a review",
        is_approved=bool(approval and approval.valid),
    )
    if events:
        deps.record(history.task, *events)


def _in_person(deps: Deps, site: TaskSetup, external_review: outside.ExternalReview) -> outside.ExternalReview:
    """What the contract asks for must be in the object; words of a person are of the whole change."""
    history = deps.event_log.history(site.task_id)
    subject = review_input(deps, site, history, history.cycle)
    if external_review.kind == "contract" or has_block(external_review.raw):
        return replace(external_review, unseen=_unseen(deps, site, subject, external_review.review))
    review = complete_approval(
        external_review.review,
        findings=history.findings,
        criteria=subject.judged,
        by=external_review.by,
        is_new_tree=not outside.rejected_before(history, subject.commit.tree),
    )
    return replace(external_review, review=review)


def _unseen(deps: Deps, site: TaskSetup, subject: ReviewInput, review: Review) -> tuple[str, ...]:
    return coverage(subject.change, asked(deps, site, "0" * 16), review.inspected)


@contextmanager
def _claimed(deps: Deps, task_id: int) -> Iterator[bool]:
    """Ours, unless a runner was quicker: it decides the same, since the record does."""
    task = deps.event_log.claim([task_id])
    try:
        yield task is not None
    finally:
        if task is not None:
            deps.event_log.release(task_id)


def _settle(deps: Deps, site: TaskSetup) -> None:
    with _claimed(deps, site.task_id) as ours:
        if ours:
            outside.decide(deps, site)


# -- places ---------------------------------------------------------------------------------------
# Checks the places in a review: they count only if the reviewed tree has the file and the line.


def existing_places(
    remarks: Sequence[Remark], changed_paths: Sequence[str], text_of: Callable[[str], str | None]
) -> tuple[Remark, ...]:
    return tuple(_with_existing_place(remark, changed_paths, text_of) for remark in remarks)


def _with_existing_place(remark: Remark, changed_paths: Sequence[str], text_of: Callable[[str], str | None]) -> Remark:
    if remark.file is None:
        return replace(remark, line=None, end_line=None) if remark.line else remark
    path = _known_path(remark.file.removeprefix("./"), changed_paths, text_of)
    if path is None:
        return _without_place(remark)
    count = len((text_of(path) or "").splitlines())
    if remark.line is None or not 0 < remark.line <= count:
        return replace(remark, file=path, line=None, end_line=None)
    end = remark.end_line if remark.end_line and remark.line <= remark.end_line <= count else None
    return replace(remark, file=path, end_line=end)


def _known_path(name: str, changed_paths: Sequence[str], text_of: Callable[[str], str | None]) -> str | None:
    """The path if it exists or was changed; else the only changed path that ends with the name."""
    if name in changed_paths or text_of(name) is not None:
        return name
    ending = [path for path in changed_paths if path.endswith(f"/{name}")]
    return ending[0] if len(ending) == 1 else None


def _without_place(remark: Remark) -> Remark:
    """Move an unknown place into the description, for people to read."""
    where = f"{remark.file}:{remark.line}" if remark.line else str(remark.file)
    words = remark.description if where in remark.description else f"{remark.description}\n(at {where})".strip()
    return replace(remark, file=None, line=None, end_line=None, description=words)
