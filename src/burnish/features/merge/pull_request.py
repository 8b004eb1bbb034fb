"""`burnish pr`: pushes the task's branch and opens a pull request, with the user's git and gh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.adapters.github_cli import error_lines, find_gh, last_line, run_gh
from burnish.core.check import check_words
from burnish.core.cost import UNKNOWN_COST, cost_with_source
from burnish.core.finding import Finding, worst_first
from burnish.core.history import History, with_result
from burnish.core.journal import ReviewResult
from burnish.core.review import Compliance
from burnish.core.status import Status
from burnish.core.task import Task
from burnish.errors import BadInput, BurnishError, Refused
from burnish.exchange.markdown_text import escaped_start
from burnish.exchange.report import last_checks, place
from burnish.features.merge.plan import merge_candidate
from burnish.git.publishing import publish
from burnish.git.refs import read_ref
from burnish.git.remotes import choose_remote
from burnish.git.target_branch import user_git
from burnish.proc.capture import Captured
from burnish.runtime.reader import refuse_inside_phase
from burnish.views.task import cycles

if TYPE_CHECKING:
    from burnish.runtime.app import App


@dataclass(frozen=True, slots=True)
class PullRequest:
    """An opened or updated pull request."""

    task: Task
    url: str
    branch: str
    base: str
    remote: str
    # True if an existing pull request was updated.
    updated: bool = False

    def as_json(self) -> dict[str, Any]:
        facts = {"url": self.url, "branch": self.branch, "base": self.base, "remote": self.remote}
        return {"id": str(self.task.id), **facts, "updated": self.updated}


def open_pull_request(app: App, task_id: int, *, draft: bool, into: str | None = None) -> PullRequest:
    """Push the approved commit and open a pull request; a draft may contain unapproved work and is marked so."""
    refuse_inside_phase()
    app.trust.require()  # the git dir names the remote, and programs that reach it
    gh = find_gh("so no pull request can be opened", "; or push the branch by hand")
    task, commit, approved_commit = _commit_to_push(app, task_id, draft=draft)
    base = into or task.target
    if not base:
        raise BadInput(
            f"Task {task.id} was not started from a branch.", hint=f"Name one: burnish pr {task.id} --into BRANCH"
        )
    remote = remote_of(app.repo.root, base)
    _push(app, task, remote, commit)
    text = app.event_log.secrets.redact(pr_body(app.store.history(app.key, task.id), approved_commit=approved_commit))
    url, is_update = _create(app, gh, task, base, text, draft=draft)
    return PullRequest(task, url, str(task.branch), base, remote, is_update)


def _commit_to_push(app: App, task_id: int, *, draft: bool) -> tuple[Task, str, str | None]:
    """The task, the commit to push, and the approved commit or None."""
    task = app.store.task(app.key, task_id)
    try:
        candidate = merge_candidate(app, task_id)
    except Refused as refusal:
        tip = read_ref(app.repo, f"refs/heads/{task.branch}") if task.branch else None
        if tip is None or tip == task.base:
            raise
        if not draft:
            what = (
                f"Task {task.id} is {task.status}" if task.status is not Status.VERIFIED else refusal.what.rstrip(".")
            )
            raise Refused(
                f"{what}: a pull request shows what is approved.",
                hint=f"Open a draft instead: burnish pr {task.id} --draft",
            ) from None
        return app.store.task(app.key, task_id), tip, None
    return candidate.task, candidate.commit_to_merge, candidate.approval.commit


def remote_of(root: Path, base: str) -> str:
    """The remote that pull requests into this branch are on."""
    return choose_remote(root, to="use", branch=base, hint=f"`git branch --set-upstream-to=REMOTE/{base} {base}`")


def _push(app: App, task: Task, remote: str, commit: str) -> None:
    publish(app.repo, commit)
    result = user_git(app.repo.root, "push", "--quiet", "--porcelain", remote, f"{commit}:refs/heads/{task.branch}")
    if result.exit_code == 0:
        return
    # "!", the refs and the reason: the porcelain format is not translated.
    rejections = [
        line.split("\t")[-1] for line in result.stdout.decode(errors="replace").split("\n") if line[:1] == "!"
    ]
    why = rejections[0].strip() if rejections else ""
    if why.startswith("[rejected]"):
        raise Refused(
            f"Somebody else pushed to {task.branch} on {remote}, so nothing was pushed: {why}.",
            hint=f"See it: git fetch {remote} {task.branch} && git log FETCH_HEAD. Then merge it into {task.branch} "
            f"and `burnish run {task.id}`, or delete it: git push {remote} --delete {task.branch}",
        )
    raise BurnishError(
        f"git push to {remote} failed: {' '.join(filter(None, (why, _reason(result))))}",
        hint=f"Try it by hand: git push {remote} {commit[:12]}:refs/heads/{task.branch}",
    )


def _create(app: App, gh: str, task: Task, base: str, text: str, *, draft: bool) -> tuple[str, bool]:
    title = " ".join(task.spec.title.split())
    what = (f"--title={title}", "--body-file=-")
    more = ("--draft",) if draft else ()
    created_result = run_gh(
        app.repo.root, gh, "pr", "create", f"--head={task.branch}", f"--base={base}", *what, *more, text=text
    )
    if created_result.exit_code == 0:
        return _url(created_result), False
    if "already exists" not in created_result.stderr.decode(errors="replace"):
        raise _gh_failed(created_result, task)
    edit_result = run_gh(app.repo.root, gh, "pr", "edit", str(task.branch), *what, text=text)
    if edit_result.exit_code:
        raise _gh_failed(edit_result, task)
    return _url(edit_result) or _url(created_result, created_result.stderr), True


def _gh_failed(result: Captured, task: Task) -> BurnishError:
    return BurnishError(
        f"gh could not open the pull request: {last_line(result)}",
        hint=f"{task.branch} is pushed. Check your login: gh auth status",
    )


def _url(result: Captured, output: bytes | None = None) -> str:
    words = (result.stdout if output is None else output).decode(errors="replace").split()
    return next((word for word in reversed(words) if word.startswith(("https://", "http://"))), "")


def _reason(result: Captured) -> str:
    """The remote's message, else git's first error; never its hints."""
    lines = [line for line in error_lines(result) if not line.startswith("hint:")]
    marks = ("remote:", "fatal:", "error:")
    found = [line for mark in marks for line in lines if line.startswith(mark)] or lines
    return found[0] if found else f"exit code {result.exit_code}"


# -- pull request text ----------------------------------------------------------------------------
# The text of a pull request: a summary of the task and its reviews.

MAX_ITEMS = 50


def pr_body(history: History, *, approved_commit: str | None) -> str:
    """Markdown: summary, criteria, findings with their state, checks, cycles, cost."""
    cycle_views = [cycle for cycle in cycles(history.phases, history.decisions) if cycle["phases"]]
    reviews = [p for p in with_result(history.phases, ReviewResult) if p.phase == "review" and not p.superseded]
    last = reviews[-1].result if reviews else ReviewResult()
    parts = [
        _head(history.task, last, approved_commit),
        _list("Criteria", [_criterion(entry) for entry in last.compliance]),
        _findings(history.findings),
        _list("Checks", [_check(check) for check in last_checks(cycle_views)]),
        _list("Cycles", [_cycle(cycle) for cycle in cycle_views]),
        _foot(history.task),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(task: Task, last: ReviewResult, approved_commit: str | None) -> str:
    verdict = (
        f"**Approved** by burnish at {approved_commit[:12]}."
        if approved_commit
        else f"**Not approved yet** ({task.status})."
    )
    lines = [escaped_start(task.spec.description), verdict, escaped_start(last.summary)]
    return "\n\n".join(line for line in lines if line)


def _list(title: str, items: Sequence[str]) -> str:
    lines = [f"- {item}" for item in items[:MAX_ITEMS]]
    more = [f"- … and {len(items) - MAX_ITEMS} more"] if len(items) > MAX_ITEMS else []
    return f"### {title}\n\n" + "\n".join([*lines, *more]) if items else ""


def _criterion(entry: Compliance) -> str:
    state = "not judged" if entry.met is None else "met" if entry.met else "**not met**"
    comment = escaped_start(entry.note)
    return f"{escaped_start(entry.item)}: {state}" + (f" ({comment})" if comment else "")


def _findings(findings: tuple[Finding, ...]) -> str:
    rows = []
    for finding in worst_first(findings)[:MAX_ITEMS]:
        reason = f": {escaped_start(finding.waiver.reason)}" if finding.waiver else ""
        rows.append(f"{finding.id} {finding.remark.severity}, **{finding.state}**{reason}: {title_and_place(finding)}")
    return _list("Findings", rows) or "### Findings\n\nNone."


def title_and_place(finding: Finding) -> str:
    where = place(finding)
    return escaped_start(finding.remark.title) + (f" ({escaped_start(where)})" if where else "")


def _check(check: Mapping[str, Any]) -> str:
    return f"{escaped_start(check.get('name'))}: {escaped_start(check_words(check))}"


def _cycle(cycle: Mapping[str, Any]) -> str:
    who = ", ".join(escaped_start(reviewer.get("agent")) for reviewer in cycle["reviewers"])
    verdict = f"{cycle['verdict'] or 'no review'}" + (f" by {who}" if who else "")
    summary = escaped_start(cycle["summary"])
    return f"{cycle['number']}: {verdict}" + (f": {summary}" if summary else "")


def _foot(task: Task) -> str:
    cost_text = cost_with_source(task.cost_usd, task.cost_source)
    cost = f", {cost_text}" if cost_text == UNKNOWN_COST else f", cost {cost_text}" if cost_text else ""
    tokens = f", {task.tokens:,} tokens" if task.tokens else ""
    overrides = f", {task.overrides} overridden by a person" if task.overrides else ""
    count = f"{task.cycle} cycle{'' if task.cycle == 1 else 's'}"
    return f"Task {task.id}, {count}{cost}{tokens}{overrides}."
