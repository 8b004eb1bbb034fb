"""A person's review of a change: draft comments on lines, files that were viewed, and sending it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import Field

from burnish.features.review import person_review
from burnish.features.review.apply_suggestions import apply_suggestions
from burnish.features.review.drafts import DraftComment, read_draft
from burnish.features.review.person_review import ReviewVerdict
from burnish.views.status import task_json
from burnish.views.task import finding_json
from burnish.web.api.schemas import ApiModel, Body, FindingOut, Reasons, Seen, TaskOut, Text, example
from burnish.web.deps import AppDep, TaskNumber, Via
from burnish.web.problems import PROBLEMS

router = APIRouter(prefix="/api/v1/projects/{project}", tags=["reviews"], responses=PROBLEMS)

BLOB = "3b18e512dba79e4c8300dd08aeb37f8e728b8dad"
ObjectId = Annotated[str, Field(pattern="^[0-9a-f]{40,64}$")]
FilePath = Annotated[Text, Field(min_length=1, max_length=4096)]
LineNumber = Annotated[int, Field(ge=1, le=2**31)]
CommentId = Annotated[int, Path(ge=1, le=2**31, description="Number of the draft comment.")]


class DraftBody(Body):
    model_config = example(path="app.py", line=4, end_line=5, blob=BLOB, text="Say which file is missing.")

    path: FilePath
    blob: ObjectId
    """git's name of the content that the comment is about; refused with 409 if the file has other content now."""
    line: LineNumber | None = None
    """Default: the comment is about the whole file."""
    end_line: LineNumber | None = None
    side: Literal["new", "old"] = "new"
    """`old`: the lines are those of the base, which the change removes."""
    text: Text
    """A block of ```suggestion holds the lines that should be there instead."""


class EditDraftBody(Body):
    model_config = example(text="Say which file is missing.")

    text: Text


class SendBody(Body):
    model_config = example(verdict="request_changes", note="See the comments.", commit="0b9d6a4e2f1c")

    verdict: ReviewVerdict
    commit: Seen
    note: Text = ""
    grounds: Reasons = Reasons()
    """Required if an approval overrides the review."""


class ViewedBody(Body):
    model_config = example(path="app.py", blob=BLOB, viewed=True)

    path: FilePath
    blob: ObjectId
    viewed: bool = True


class SeenBody(Body):
    model_config = example(tree=BLOB)

    tree: ObjectId
    """The tree that was looked at."""


class ApplyBody(Body):
    model_config = example(findings=["F1", "F2"], commit="0b9d6a4e2f1c")

    findings: Annotated[list[Annotated[str, Field(max_length=20)]], Field(min_length=1, max_length=100)]
    commit: Seen


class AppliedOut(ApiModel):
    task: TaskOut
    commit: str
    findings: list[FindingOut]


class DraftOut(ApiModel):
    id: int
    text: str
    path: str
    blob: str
    line: int | None
    end_line: int | None
    side: str
    quote: str


class DraftReviewOut(ApiModel):
    comments: list[DraftOut]
    viewed: dict[str, str]
    seen_tree: str


class SentReviewOut(ApiModel):
    task: TaskOut
    findings: list[FindingOut]


@router.get("/tasks/{task}/draft", response_model=DraftReviewOut)
def draft(app: AppDep, task: TaskNumber) -> dict[str, Any]:
    """Your comments that are not sent yet, and the files that you have viewed."""
    found = read_draft(app, task)
    return {
        "comments": [draft_json(one) for one in found.comments],
        "viewed": dict(found.viewed),
        "seen_tree": found.seen_tree,
    }


@router.post("/tasks/{task}/draft/comments", response_model=DraftOut)
def add(app: AppDep, task: TaskNumber, body: DraftBody) -> dict[str, Any]:
    """Comment on lines of the change. The comment is a draft until the review is sent."""
    return draft_json(
        person_review.draft_comment(
            app,
            task,
            body.path,
            body.text,
            line=body.line,
            end_line=body.end_line,
            side=body.side,
            blob=body.blob,
        )
    )


@router.patch("/tasks/{task}/draft/comments/{comment}", response_model=DraftOut)
def edit(app: AppDep, task: TaskNumber, comment: CommentId, body: EditDraftBody) -> dict[str, Any]:
    """Change the text of a draft comment."""
    return draft_json(person_review.edit_comment(app, task, comment, body.text))


@router.delete("/tasks/{task}/draft/comments/{comment}", response_model=DraftReviewOut)
def delete(app: AppDep, task: TaskNumber, comment: CommentId) -> dict[str, Any]:
    """Delete a draft comment; the rest of the draft."""
    person_review.delete_comment(app, task, comment)
    return draft(app, task)


@router.post("/tasks/{task}/draft/send", response_model=SentReviewOut)
def send(app: AppDep, via: Via, task: TaskNumber, body: SendBody) -> dict[str, Any]:
    """Send the draft as a review: approve, request changes (each comment is a finding), or comment only.

    `request_changes` does not start the fix: run the task to do so.
    """
    result = person_review.send_review(
        app, task, body.verdict, note=body.note, commit=body.commit, grounds=body.grounds.grounds, via=via
    )
    return {"task": task_json(result.task), "findings": [finding_json(one) for one in result.findings]}


@router.post("/tasks/{task}/apply", response_model=AppliedOut)
def apply(app: AppDep, via: Via, task: TaskNumber, body: ApplyBody) -> dict[str, Any]:
    """Like `burnish apply`: commit what these findings suggest for their lines, in one commit on the task's branch.

    An approval becomes void. The findings stay open. 409 if the lines have changed since, or while the task runs.
    """
    result = apply_suggestions(app, task, body.findings, commit=body.commit, via=via)
    findings = [finding_json(one) for one in result.findings]
    return {"task": task_json(result.task), "commit": result.commit, "findings": findings}


@router.put("/tasks/{task}/viewed", response_model=DraftReviewOut)
def viewed(app: AppDep, task: TaskNumber, body: ViewedBody) -> dict[str, Any]:
    """Mark one content of a file as viewed by you, or as not viewed."""
    person_review.mark_viewed(app, task, body.path, body.blob, is_viewed=body.viewed)
    return draft(app, task)


@router.put("/tasks/{task}/seen", response_model=DraftReviewOut)
def seen(app: AppDep, task: TaskNumber, body: SeenBody) -> dict[str, Any]:
    """Remember the tree that you looked at last; the page can show what changed since."""
    person_review.mark_seen(app, task, body.tree)
    return draft(app, task)


def draft_json(comment: DraftComment) -> dict[str, Any]:
    return {
        "id": comment.id,
        "text": comment.text,
        "path": comment.path,
        "blob": comment.blob,
        "line": comment.line,
        "end_line": comment.end_line,
        "side": comment.side,
        "quote": comment.quote,
    }
