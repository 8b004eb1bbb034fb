"""A person reviews the change of a task: comments on lines, collected and sent as one review."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from burnish.adapters.agents import StopTokens
from burnish.core.change import ChangedFile
from burnish.core.finding import Finding
from burnish.core.gate import Actor, GateChoice, GateDecision
from burnish.core.ledger.reanchor import Tree
from burnish.core.override import OverrideReasons
from burnish.core.status import Status
from burnish.core.suggestion import as_block, split_comment
from burnish.core.task import Task
from burnish.engine.commands import comment as commands
from burnish.engine.commands.comment import Comment
from burnish.engine.transitions import ledger_lock
from burnish.errors import BadInput, NotFound, Refused
from burnish.features.decide import decisions
from burnish.features.review.drafts import (
    DraftComment,
    DraftReview,
    add_draft,
    change_draft,
    delete_draft,
    edit_draft,
    read_draft,
    without,
)
from burnish.features.tasks.inspect import change_of, file_texts
from burnish.runtime.app import App
from burnish.runtime.ports import NullProgress, deps_for
from burnish.runtime.reader import refuse_inside_phase
from burnish.runtime.requests import RunRequest

MAX_RANGE = 500


class ReviewVerdict(StrEnum):
    """What a person's review asks for."""

    APPROVE = "approve"
    REQUEST_CHANGES = "request_changes"
    COMMENT = "comment"


@dataclass(frozen=True, slots=True)
class SentReview:
    task: Task
    findings: tuple[Finding, ...]


def draft_comment(
    app: App, task_id: int, path: str, text: str, *, line: int | None, end_line: int | None, side: str, blob: str
) -> DraftComment:
    """Add a comment to the person's draft. `blob` is the content that the page showed."""
    refuse_inside_phase()
    file = _changed_file(app, task_id, path)
    # removed lines may be those of an earlier cycle
    if side == "new" and blob != file.new_blob:
        raise Refused(f"{path} has changed since it was shown.", hint="Reload the page, then comment again.")
    quote = _lines(app, blob, line, end_line or line)
    comment = DraftComment(0, text, path, blob, line, end_line if end_line != line else None, side, quote)
    return change_draft(app, task_id, lambda draft: add_draft(draft, comment)).comments[-1]


def edit_comment(app: App, task_id: int, id: int, text: str) -> DraftComment:
    refuse_inside_phase()
    return change_draft(app, task_id, lambda draft: edit_draft(draft, id, text)).comment(id)


def delete_comment(app: App, task_id: int, id: int) -> DraftReview:
    refuse_inside_phase()
    return change_draft(app, task_id, lambda draft: delete_draft(draft, id))


def replace_drafts(app: App, task_id: int, comments: Sequence[DraftComment]) -> DraftReview:
    """Put these comments in the place of the person's draft."""
    refuse_inside_phase()
    files = {file.path: file for file in change_of(app, task_id, since_review=False).files}
    texts = [(one, _lines(app, one.blob, one.line, one.end_line or one.line)) for one in comments if one.path in files]

    def put(draft: DraftReview) -> DraftReview:
        draft = replace(draft, comments=())
        for comment, quote in texts:
            draft = add_draft(draft, replace(comment, quote=quote))
        return draft

    return change_draft(app, task_id, put)


def mark_viewed(app: App, task_id: int, path: str, blob: str, *, is_viewed: bool) -> DraftReview:
    """Remember that the person has read this content of the file, or forget it."""
    refuse_inside_phase()

    def mark(draft: DraftReview) -> DraftReview:
        others = {name: content for name, content in draft.viewed.items() if name != path}
        return replace(draft, viewed={**others, path: blob} if is_viewed else others)

    return change_draft(app, task_id, mark)


def mark_seen(app: App, task_id: int, tree: str) -> DraftReview:
    """Remember the tree that the person looks at; the one before is what `since I last looked` compares with."""
    refuse_inside_phase()

    def mark(draft: DraftReview) -> DraftReview:
        return draft if draft.last_tree == tree else replace(draft, last_tree=tree, seen_tree=draft.last_tree)

    return change_draft(app, task_id, mark)


def send_review(
    app: App,
    task_id: int,
    verdict: ReviewVerdict,
    *,
    note: str = "",
    commit: str = "",
    grounds: OverrideReasons | None = None,
    via: str = "cli",
) -> SentReview:
    """Send the person's draft. With `request_changes` each comment is a finding that the author must settle.

    With `approve` and `comment` the comments are findings of severity info: they do not send the task back.
    """
    refuse_inside_phase()
    drafts = read_draft(app, task_id).comments
    person = Actor(app.person, via)
    comments = [_comment(app, task_id, draft) for draft in drafts]
    if verdict is ReviewVerdict.COMMENT and not drafts and not note.strip():
        raise BadInput("The review has no comment.", hint="Comment on a line of the change, or write a note.")
    if verdict is ReviewVerdict.APPROVE:
        among = (Status.WAITING_APPROVAL,)
        decisions.decide(app, task_id, GateDecision(GateChoice.APPROVE, note, commit, grounds, among), via=via)
    deps = deps_for(app, RunRequest(), NullProgress(), StopTokens(), "")
    with ledger_lock(deps, task_id):
        if verdict is ReviewVerdict.REQUEST_CHANGES:
            findings = commands.request_changes(
                app.event_log, app.repository, task_id, comments, note, person, commit=commit
            )
        else:
            if verdict is ReviewVerdict.COMMENT and note.strip():
                comments.append(Comment(note))
            findings = commands.remark(app.event_log, task_id, comments, person) if comments else ()
    change_draft(app, task_id, lambda draft: without(draft, drafts))
    return SentReview(app.store.task(app.key, task_id), findings)


def _comment(app: App, task_id: int, draft: DraftComment) -> Comment:
    """The draft at its place in the current change; without a line if its lines are gone."""
    parts = split_comment(draft.text)
    # several blocks for the same lines are alternatives, which the author reads with the comment
    has_one = len(parts.blocks) == 1
    text = (parts.text if has_one else draft.text).strip() or "Change it as suggested."
    suggestion = as_block(parts.blocks[0]) if has_one else ""
    if draft.side == "old":
        which = f"line {draft.line}" if draft.line else "the file"
        return Comment(f"{text}\n\n(on {which} of the base, which the change removes)", draft.path, quote=draft.quote)
    line, end_line = _place(app, task_id, draft)
    return Comment(text, draft.path, line, end_line, draft.quote, suggestion)


def _place(app: App, task_id: int, draft: DraftComment) -> tuple[int | None, int | None]:
    if draft.line is None:
        return None, None
    try:
        blob = _changed_file(app, task_id, draft.path).new_blob
    except NotFound:
        return None, None
    if blob == draft.blob:
        return draft.line, draft.end_line
    texts = file_texts(app, [blob])
    places = Tree(lambda path: texts.get(blob)).find(draft.path, draft.quote)
    line = draft.line
    nearest = min(places, key=lambda place: abs(place[0] - line), default=None)
    return (nearest[0], nearest[1] if nearest[1] != nearest[0] else None) if nearest else (None, None)


def _changed_file(app: App, task_id: int, path: str) -> ChangedFile:
    for file in change_of(app, task_id, since_review=False).files:
        if file.path == path:
            return file
    raise NotFound(f"The change of task {task_id} has no file {path}.", hint="Reload the page.")


def _lines(app: App, blob: str, line: int | None, end_line: int | None) -> str:
    if line is None or end_line is None:
        return ""
    if not line <= end_line < line + MAX_RANGE:
        raise BadInput(f"Lines {line} to {end_line} are not a range of 1 to {MAX_RANGE} lines.", hint="Choose fewer.")
    lines = file_texts(app, [blob]).get(blob, "").split("\n")
    if end_line > len(lines):
        raise BadInput(f"The file has no line {end_line}.", hint="Reload the page.")
    return "\n".join(lines[line - 1 : end_line])
