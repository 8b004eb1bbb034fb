"""Posts the last review of a task to its pull request: the summary, and open findings at their lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from burnish.core.finding import Finding, worst_first
from burnish.core.history import History, with_result
from burnish.core.journal import ReviewResult
from burnish.errors import BurnishError
from burnish.exchange.markdown_text import escaped_lines, escaped_start
from burnish.features.github.client import GitHub, PullState, read_record, save_record
from burnish.features.merge.pull_request import MAX_ITEMS, title_and_place
from burnish.runtime.reader import refuse_inside_phase

if TYPE_CHECKING:
    from burnish.core.change import Change
    from burnish.runtime.app import App


# GitHub refuses a body of more than 65,536 characters; one has up to two such texts, a title and a list
_MAX_TEXT = 20_000


@dataclass(frozen=True, slots=True)
class PostedReview:
    url: str = ""
    # findings that became comments at their lines; others are in the text
    in_place: tuple[str, ...] = ()
    in_text: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {"url": self.url, "in_place": list(self.in_place), "in_text": list(self.in_text)}


def post_review(app: App, task_id: int) -> PostedReview | None:
    """Post the last review, once per round; None if there is nothing new to post."""
    refuse_inside_phase()
    history = app.store.history(app.key, task_id)
    task, github = history.task, GitHub.of(app.repo.root)
    reviews = [p for p in with_result(history.phases, ReviewResult) if p.phase == "review" and not p.superseded]
    pull = github.pull(str(task.branch)) if task.branch and reviews else None
    if pull is None or pull.state != "OPEN":
        return None
    record, round_name = read_record(app, task), f"{task.run}-{reviews[-1].cycle}-{pull.head}"
    if round_name in record.rounds:
        return None
    review = reviews[-1].result
    findings = [one for one in worst_first(history.findings) if one.alive]
    lines = _lines_of(app, history, pull)
    in_place = [one for one in findings if one.remark.line in lines.get(one.remark.file or "", ())][:MAX_ITEMS]
    answer, in_place = _post(app, github, pull, review, findings, in_place)
    record.number, record.rounds = pull.number, [*record.rounds, round_name]
    record.reviews.append(int(answer.get("id", 0)))
    save_record(app, task, record)
    others = [one.id for one in findings if one not in in_place]
    return PostedReview(str(answer.get("html_url", pull.url)), tuple(one.id for one in in_place), tuple(others))


def _post(
    app: App, github: GitHub, pull: PullState, review: ReviewResult, findings: list[Finding], in_place: list[Finding]
) -> tuple[dict[str, Any], list[Finding]]:
    """Post with comments at lines; if GitHub does not have these lines in its diff, with all of them in the text."""
    redact = app.event_log.secrets.redact
    path = f"pulls/{pull.number}/reviews"

    def body(comments_at: list[Finding]) -> dict[str, Any]:
        rest = [one for one in findings if one not in comments_at]
        text = redact(_summary(review, rest, len(findings)))
        comments = [_comment(one, redact(_words(one))) for one in comments_at]
        return {"commit_id": pull.head, "event": "COMMENT", "body": text, "comments": comments}

    if in_place:
        try:
            return github.post(path, body(in_place)), in_place
        except BurnishError as error:
            if "422" not in error.what and "Unprocessable" not in error.what:
                raise
    return github.post(path, body([])), []


def _lines_of(app: App, history: History, pull: PullState) -> dict[str, set[int]]:
    """The lines that GitHub can show a comment at: those of the hunks of the diff."""
    task = history.task
    if not task.base or pull.head != task.commit:
        return {}
    change: Change = app.repository.workspace(task).changes(task.base, pull.head)
    return {
        file.path: {line for hunk in file.hunks for line in range(hunk.new_start, hunk.new_start + hunk.new_lines)}
        for file in change.files
    }


def _comment(finding: Finding, text: str) -> dict[str, Any]:
    return {"path": finding.remark.file, "line": finding.remark.line, "side": "RIGHT", "body": text}


def _words(finding: Finding) -> str:
    remark = finding.remark
    parts = [f"**{finding.id}** ({remark.severity}, {remark.category}): {escaped_start(remark.title)}"]
    parts += [escaped_lines(text, _MAX_TEXT) for text in (remark.description, remark.suggestion) if text]
    return "\n\n".join(parts)


def _summary(review: ReviewResult, rest: list[Finding], count: int) -> str:
    verdict = str(review.verdict or "no verdict").replace("_", " ")
    parts = [f"**burnish: {verdict}**, {count} open finding{'' if count == 1 else 's'}"]
    parts.append(escaped_lines(review.summary, _MAX_TEXT))
    rows = []
    for finding in rest[:MAX_ITEMS]:
        rows.append(f"- {finding.id} {finding.remark.severity}: {title_and_place(finding)}")
    rows += [f"- … and {len(rest) - MAX_ITEMS} more"] if len(rest) > MAX_ITEMS else []
    return "\n\n".join(part for part in (*parts, "\n".join(rows)) if part)
