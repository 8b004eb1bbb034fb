"""`burnish apply`: commits what findings suggest for their lines, on the branch of the task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from burnish.adapters.agents import StopTokens
from burnish.adapters.event_log import StoreEventLog
from burnish.core.finding import Finding, listed
from burnish.core.flow import RUNNING
from burnish.core.gate import Actor
from burnish.core.history import History
from burnish.core.suggestion import Proposal, find_lines, overlapping, proposal, replaced
from burnish.core.task import Task
from burnish.engine.commands import apply as orders
from burnish.engine.shared_branch import refuse_if_branch_held
from burnish.engine.transitions import ledger_lock
from burnish.errors import BadInput, NotFound, Refused
from burnish.proc.identity import hold
from burnish.runtime.app import App
from burnish.runtime.lost_branches import settle_task
from burnish.runtime.ports import NullProgress, deps_for, registered_runner
from burnish.runtime.reader import refuse_inside_phase
from burnish.runtime.requests import RunRequest

MAX_FINDINGS = 100
# what redaction leaves in the place of a secret
_REMOVED_SECRET = "[secret: "


@dataclass(frozen=True, slots=True)
class AppliedSuggestions:
    task: Task
    commit: str
    findings: tuple[Finding, ...]


def apply_suggestions(
    app: App, task_id: int, ids: Sequence[str], *, commit: str = "", via: str = "cli"
) -> AppliedSuggestions:
    """Commit what these findings suggest, all in one commit. `commit`: what the person saw; refused for another one."""
    refuse_inside_phase()
    wanted_ids = list(dict.fromkeys(id.strip().upper() for id in ids))
    if not 1 <= len(wanted_ids) <= MAX_FINDINGS:
        raise BadInput(f"Name 1 to {MAX_FINDINGS} findings.", hint=f"burnish findings {task_id}")
    task = settle_task(app, task_id)
    refuse_if_branch_held(app.event_log, task)
    deps = deps_for(app, RunRequest(), NullProgress(), StopTokens(), "")
    with ledger_lock(deps, task_id), _claimed(app, task_id) as event_log:
        history = event_log.history(task_id)
        orders.check_apply(history)
        findings = [_open_finding(history, id) for id in wanted_ids]
        proposals = [_proposal(one) for one in findings]
        head = _branch_head(app, history.task, commit)
        files = _new_files(app, history.task, head, proposals)
        app.repository.check_movable(str(history.task.branch))
        trailers = {
            "Burnish-Task": str(task_id),
            "Burnish-Cycle": str(history.cycle),
            "Burnish-Phase": orders.APPLY,
            "Burnish-Findings": ", ".join(wanted_ids),
        }
        workspace = app.repository.workspace(history.task)
        author = app.repository.author()
        new_commit = workspace.commit_files(files, _message(findings), trailers, author=author, expect=head)
        if new_commit is None:
            raise Refused("The files have the suggested lines already.", hint="Resolve the finding, or waive it.")
        at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        after = orders.record_applied(event_log, history, findings, new_commit, Actor(app.person, via), at)
    findings_after = {one.id: one for one in app.event_log.findings(task_id)}
    return AppliedSuggestions(after, new_commit.sha, tuple(findings_after[id] for id in wanted_ids))


@contextmanager
def _claimed(app: App, task_id: int) -> Iterator[StoreEventLog]:
    """Hold a task that a run could take, so that no phase begins meanwhile. Others cannot be taken."""
    task = app.store.task(app.key, task_id)
    if task.status not in RUNNING or task.is_paused:
        yield app.event_log
        return
    with hold(app.locks) as lock, registered_runner(app.store, lock) as runner:
        event_log = replace(app.event_log, runner=runner)
        if event_log.claim([task_id]) is None:
            raise Refused(f"Another process runs task {task_id}.", hint="Wait until it ends: `burnish status`.")
        try:
            yield event_log
        finally:
            event_log.release(task_id)


def _open_finding(history: History, id: str) -> Finding:
    finding = next((one for one in history.findings if one.id == id), None)
    if finding is None:
        raise NotFound(f"Task {history.task.id} has no finding {id}.", hint=f"burnish findings {history.task.id}")
    if not finding.alive:
        raise Refused(f"{id} is {finding.state}.", hint=f"Reopen it first: burnish reopen {history.task.id} {id}")
    return finding


def _proposal(finding: Finding) -> Proposal:
    found = proposal(finding)
    if found is None:
        raise Refused(
            f"{finding.id} has no suggestion that can be applied.",
            hint="It needs lines of a file, and a block of ```suggestion with the lines that replace them.",
        )
    if any(_REMOVED_SECRET in line for line in found.lines):
        raise Refused(
            f"The suggestion of {finding.id} had a secret, which burnish did not store.", hint="Change it by hand."
        )
    return found


def _branch_head(app: App, task: Task, commit: str) -> str:
    head = app.repository.workspace(task).head()
    if head is None:
        raise Refused(f"The branch of task {task.id} is gone.", hint=f"burnish retry {task.id}")
    prefix = commit.strip().lower()
    if prefix and not head.sha.startswith(prefix):
        raise Refused(
            f"The branch of task {task.id} is at {head.sha[:12]} now, not at {prefix[:12]}.",
            hint="Read the change again, then apply.",
        )
    return head.sha


def _new_files(app: App, task: Task, head: str, proposals: Sequence[Proposal]) -> dict[str, bytes]:
    paths = list(dict.fromkeys(one.file for one in proposals))
    contents = app.repository.workspace(task).read(head, paths)
    return {path: _new_content(path, contents.get(path), proposals) for path in paths}


def _new_content(path: str, content: bytes | None, proposals: Sequence[Proposal]) -> bytes:
    try:
        text = content.decode() if content is not None and b"\0" not in content else None
    except UnicodeDecodeError:
        text = None
    if text is None:
        raise Refused(f"{path} is not a text file of the change in UTF-8.", hint="Change it by hand.")
    changes = []
    for change in (one for one in proposals if one.file == path):
        at = find_lines(text, change)
        if at is None:
            raise Refused(
                f"{change.finding}: the lines of {path} have changed since the suggestion was made.",
                hint="Nothing was applied. Change them by hand, or comment on the new lines.",
            )
        changes.append((at, change))
    if pair := overlapping(changes):
        raise Refused(f"{' and '.join(pair)} suggest other text for the same line.", hint="Apply one of them.")
    return replaced(text, changes).encode()


def _message(findings: Sequence[Finding]) -> str:
    ids = [one.id for one in findings]
    if len(findings) == 1:
        title = " ".join(findings[0].remark.title.split())
        return f"Apply the suggestion of {ids[0]}: {title}"[:120]
    rows = [f"- {one.id}: {' '.join(one.remark.title.split())}"[:120] for one in findings]
    return f"Apply the suggestions of {listed(ids, 6)}\n\n" + "\n".join(rows)
