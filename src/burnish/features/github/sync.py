"""Brings comments, failed CI runs, and the end of a pull request back to its task."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from burnish.adapters.agents import StopTokens
from burnish.core.finding import Reply
from burnish.core.gate import Actor
from burnish.core.status import Status
from burnish.core.task import Task
from burnish.engine.commands import comment as comments
from burnish.engine.commands import waive
from burnish.engine.commands.comment import MAX_LENGTH, Comment
from burnish.engine.transitions import ledger_lock
from burnish.errors import BadInput, BurnishError
from burnish.features.decide import decisions
from burnish.features.github.client import GitHub, PullRecord, PullState, read_record, recorded_ids, save_record
from burnish.features.tasks.edit import resolve_finding
from burnish.runtime.ports import NullProgress, deps_for
from burnish.runtime.reader import refuse_inside_phase
from burnish.runtime.requests import RunRequest
from burnish.sanitize import without_escapes

if TYPE_CHECKING:
    from burnish.runtime.app import App

# Anyone can comment on a public pull request. Only these people can send a task back to its author.
TRUSTED = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
FAILED = frozenset({"failure", "timed_out", "startup_failure"})
_LOG_CHARACTERS = 4_000
# how `post` begins a comment at a line
_POSTED = re.compile(r"\*\*(F\d+)\*\* ")
# as GitHub has them; it is part of a name that events, prompts and screens show
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}(?:\[bot\])?")
# of one synchronisation: the others are taken by the next one
_MAX_COMMENTS = 200
_LOG_LINE = re.compile(r"^[^\t\n]*\t[^\t\n]*\t(?:\ufeff?[0-9T:.\-]+Z )?", re.MULTILINE)


@dataclass
class SyncedPull:
    """What a synchronisation changed."""

    task: Task
    number: int = 0
    state: str = ""
    url: str = ""
    head: str = ""
    opened_ids: list[str] = field(default_factory=list)
    # findings in whose thread somebody replied
    replied_ids: list[str] = field(default_factory=list)
    resolved_ids: list[str] = field(default_factory=list)
    # comments of people who may not change the repository
    not_taken: int = 0
    # how many of them no earlier synchronisation reported
    newly_left_out: int = 0
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {
            "id": str(self.task.id),
            "status": self.task.status.value,
            "pull_request": self.number or None,
            "state": self.state or None,
            "url": self.url or None,
            "opened": self.opened_ids,
            "replied": self.replied_ids,
            "resolved": self.resolved_ids,
            "not_taken": self.not_taken,
            "notes": self.notes,
        }


def sync_pulls(app: App, task_id: int | None) -> list[SyncedPull]:
    """Synchronise one task, or all tasks whose branch may have a pull request."""
    refuse_inside_phase()
    github = GitHub.of(app.repo.root)
    if task_id is not None:
        task = app.store.task(app.key, task_id)
        pull = github.pull(str(task.branch)) if task.branch else None
        if pull is None:
            raise BadInput(f"Task {task_id} has no pull request.", hint=f"Open one: burnish pr {task_id}")
        return [_sync(app, github, task, pull)]
    tasks = app.store.tasks(app.key, ids=recorded_ids(app))
    pulls = [(task, github.pull(str(task.branch))) for task in tasks if task.branch and task.status in _CAN_CHANGE]
    return [_sync(app, github, task, pull) for task, pull in pulls if pull is not None]


_CAN_CHANGE = frozenset(Status) - {Status.BACKLOG, Status.COMPLETED, Status.CANCELLED}


def _sync(app: App, github: GitHub, task: Task, pull: PullState) -> SyncedPull:
    record, result = read_record(app, task), SyncedPull(task, pull.number, pull.state, pull.url, pull.head)
    record.number = pull.number
    try:
        if pull.state == "OPEN" and task.status in _CAN_CHANGE:
            for take in (_take_comments, _take_runs, _close_resolved):
                take(app, github, task, pull, record, result)
        elif pull.state == "MERGED" and task.status in _CAN_CHANGE:
            _note_merge(app, task, pull, result)
        elif pull.state == "CLOSED" and task.status in _CAN_CHANGE:
            hint = f"burnish cancel {task.id}, or open it again with `burnish pr {task.id}`"
            result.notes.append(f"The pull request was closed without a merge: {hint}.")
    finally:
        # also after an error in between: what was taken must not be taken again
        save_record(app, task, record)
    result.task = app.store.task(app.key, task.id)
    return result


def _note_merge(app: App, task: Task, pull: PullState, result: SyncedPull) -> None:
    approval = app.store.approval(app.key, task.id)
    is_approved = task.status is Status.VERIFIED and approval is not None and approval.commit == pull.head
    if not is_approved:
        what = f"The pull request was merged at {pull.head[:12]}, which burnish has not approved"
        result.notes.append(f"{what} (the task is {task.status}). To close the task: burnish done {task.id}")
        return
    try:
        decisions.done(app, task.id, None, commit=pull.head, via="github")
        result.notes.append("The pull request was merged: the task is completed.")
    except BurnishError as error:
        result.notes.append(f"The pull request was merged, but the task stays {task.status}: {error.what}")


# -- comments -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _GitHubComment:
    key: str
    login: str
    is_bot: bool
    association: str
    text: str
    url: str
    file: str | None = None
    line: int | None = None
    end_line: int | None = None
    # id of the first comment of its thread; None for that one itself
    thread: int | None = None


def _take_comments(
    app: App, github: GitHub, task: Task, pull: PullState, record: PullRecord, result: SyncedPull
) -> None:
    threads = dict(_own_threads(github, pull, record))
    for comment in _comments(github, pull, record):
        if comment.key in record.findings:
            continue
        if not comment.is_bot and comment.association not in TRUSTED:
            # asked again each time: the person may become a collaborator
            result.not_taken += 1
            if comment.key not in record.left_out:
                record.left_out.append(comment.key)
                result.newly_left_out += 1
            continue
        if len(result.opened_ids) + len(result.replied_ids) >= _MAX_COMMENTS:
            result.notes.append(
                f"More than {_MAX_COMMENTS} comments: the others are taken by the next `burnish pr sync`."
            )
            break
        finding = record.findings.get(f"c{comment.thread}") or threads.get(comment.thread or 0, "")
        if finding and comment.text and _reply(app, task, finding, comment):
            record.findings[comment.key] = ""
            result.replied_ids.append(finding)
            continue
        record.findings[comment.key] = _open(app, task, comment, result)


def _own_threads(github: GitHub, pull: PullState, record: PullRecord) -> Iterator[tuple[int, str]]:
    """The comments that burnish posted, each with its finding."""
    for row in github.rows(f"pulls/{pull.number}/comments"):
        if row.get("pull_request_review_id") in record.reviews and (match := _POSTED.match(str(row.get("body") or ""))):
            yield _number(row.get("id")) or 0, match[1]


def _reply(app: App, task: Task, finding: str, comment: _GitHubComment) -> bool:
    """Record a reply at the finding of its thread; False if that is closed: the reply is then a finding of its own."""
    if finding not in {one.id for one in app.store.findings(app.key, task.id) if one.alive}:
        return False
    text = app.event_log.secrets.redact(without_escapes(comment.text))[: MAX_LENGTH - 200]
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    deps = deps_for(app, RunRequest(), NullProgress(), StopTokens(), "")
    with ledger_lock(deps, task.id):
        waive.reply(app.event_log, task.id, finding, Reply(f"github:{comment.login}", text, now))
    return True


def _comments(github: GitHub, pull: PullState, record: PullRecord) -> Iterator[_GitHubComment]:
    """Comments at lines, on the whole pull request, and texts of reviews; without those of burnish."""
    for row in github.rows(f"pulls/{pull.number}/comments"):
        if row.get("pull_request_review_id") not in record.reviews:
            yield _read_comment("c", row)
    for row in github.rows(f"issues/{pull.number}/comments"):
        yield _read_comment("i", row)
    for row in github.rows(f"pulls/{pull.number}/reviews"):
        # an approval on GitHub decides nothing here, and its text asks for nothing
        if row.get("id") not in record.reviews and row.get("state") in ("CHANGES_REQUESTED", "COMMENTED"):
            yield _read_comment("r", row)


def _read_comment(kind: str, row: dict[str, Any]) -> _GitHubComment:
    author = row.get("user")
    user = author if isinstance(author, dict) else {}
    last = _number(row.get("line"))
    first = _number(row.get("start_line")) or last
    return _GitHubComment(
        f"{kind}{_number(row.get('id')) or 0}",
        login if isinstance(login := user.get("login"), str) and _LOGIN.fullmatch(login) else "unknown",
        user.get("type") == "Bot",
        str(row.get("author_association") or ""),
        str(row.get("body") or "").strip(),
        str(row.get("html_url") or ""),
        str(row["path"]) if row.get("path") else None,
        first,
        last if last != first else None,
        _number(row.get("in_reply_to_id")),
    )


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _open(app: App, task: Task, comment: _GitHubComment, result: SyncedPull) -> str:
    """Open a finding; "" for an empty text, e.g. of a review that has only comments at lines."""
    if not comment.text:
        return ""
    text = app.event_log.secrets.redact(without_escapes(comment.text))
    words = _placed(app, task, comment, text[: MAX_LENGTH - 200])
    person = Actor(f"github:{comment.login}", "github")
    return _record(app, task, words, person, result, asks=not comment.is_bot)


def _record(app: App, task: Task, words: Comment, person: Actor, result: SyncedPull, *, asks: bool) -> str:
    """`asks`: the author must change something; else it is a remark that blocks nothing."""
    deps = deps_for(app, RunRequest(), NullProgress(), StopTokens(), "")
    with ledger_lock(deps, task.id):
        if asks:
            finding = comments.comment(app.event_log, task.id, words, person)
        else:
            (finding,) = comments.remark(app.event_log, task.id, [words], person)
    result.opened_ids.append(finding.id)
    return finding.id


def _placed(app: App, task: Task, comment: _GitHubComment, text: str) -> Comment:
    """The comment at its lines, if the task's commit has them."""
    if comment.file is None or not task.commit:
        return Comment(text)
    content = app.repository.workspace(task).read(task.commit, [comment.file])[comment.file]
    if content is None:
        return Comment(f"{text}\n\n(on {comment.file})")
    lines = content.decode("utf-8", "replace").split("\n")
    first, last = comment.line or 0, comment.end_line or comment.line or 0
    if not 1 <= first <= last <= len(lines):
        return Comment(text, comment.file)
    return Comment(text, comment.file, first, comment.end_line, "\n".join(lines[first - 1 : last]))


def _close_resolved(
    app: App, github: GitHub, task: Task, pull: PullState, record: PullRecord, result: SyncedPull
) -> None:
    """Resolve what came from a thread that was resolved. Findings of reviewers and checks stay: a review rules."""
    keys = [key for key, finding in record.findings.items() if key[:1] == "c" and key[1:].isdigit() and finding]
    alive = {one.id for one in app.store.findings(app.key, task.id) if one.alive}
    open_findings = {key: record.findings[key] for key in keys if record.findings[key] in alive}
    if not open_findings:
        return
    closed_threads = github.resolved_threads(pull.number)
    for key, finding in open_findings.items():
        if int(key[1:]) in closed_threads:
            _resolve(app, task, finding, "the thread was resolved on GitHub", result)


def _resolve(app: App, task: Task, finding: str, reason: str, result: SyncedPull) -> None:
    try:
        resolve_finding(app, task.id, finding, reason=reason)
        result.resolved_ids.append(finding)
    except BurnishError as error:
        result.notes.append(f"{finding} stays open: {error.what}")


# -- CI runs --------------------------------------------------------------------------------------


def _take_runs(app: App, github: GitHub, task: Task, pull: PullState, record: PullRecord, result: SyncedPull) -> None:
    """Failed runs become findings with the end of their log; a later run that succeeds resolves them."""
    if pull.head != task.commit:
        return
    newest: dict[str, dict[str, Any]] = {}
    for row in github.rows(f"commits/{pull.head}/check-runs"):
        name = str(row.get("name") or "")
        if name and (_number(row.get("id")) or 0) >= (_number(newest.get(name, {}).get("id")) or 0):
            newest[name] = row
    alive = {one.id for one in app.store.findings(app.key, task.id) if one.alive}
    for name, row in sorted(newest.items()):
        key, id = f"ci:{name}", _number(row.get("id")) or 0
        finding = record.findings.get(key, "")
        if row.get("conclusion") in FAILED and record.failed_runs.get(key) != id:
            record.failed_runs[key] = id
            if finding not in alive:
                words = Comment(_failure_text(app, github, name, row, id))
                record.findings[key] = _record(app, task, words, Actor("github:ci", "github"), result, asks=True)
        elif row.get("conclusion") == "success" and finding in alive:
            _resolve(app, task, finding, f"{name} succeeded", result)


def _failure_text(app: App, github: GitHub, name: str, row: dict[str, Any], id: int) -> str:
    log = _LOG_LINE.sub("", without_escapes(github.failed_log(id)))[-_LOG_CHARACTERS:]
    found = row.get("output")
    output = found if isinstance(found, dict) else {}
    report = str(output.get("summary") or output.get("title") or "GitHub has no log of it.")
    log = log.strip() or without_escapes(report)
    text = f"CI run failed: {without_escapes(name)[:200]} ({row.get('conclusion')})\n\n{log[-_LOG_CHARACTERS:]}"
    return app.event_log.secrets.redact(text)
