"""Merge approved tasks, or open pull requests for them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi import Body as FromBody

from burnish.features.github.post import post_review
from burnish.features.github.sync import sync_pulls
from burnish.features.merge.merge import MergeRequest, merge
from burnish.features.merge.pull_request import open_pull_request
from burnish.runtime.ports import NullProgress
from burnish.web.api.schemas import ApiModel, Body, Line, MergedOut, MergesOut, Seen, example
from burnish.web.deps import AppDep, TaskNumber
from burnish.web.problems import PROBLEMS

router = APIRouter(prefix="/api/v1/projects/{project}", tags=["merges"], responses=PROBLEMS)

How = Literal["merge", "squash", "rebase"]


class MergeBody(Body):
    model_config = example(commit="0b9d6a4e2f1c", how="merge")

    commit: Seen
    how: How = "merge"
    into: Line | None = None
    """Target branch. Default: the branch that the task started from."""
    delete_branch: bool = False
    resolve: bool = False
    """Have the author resolve conflicts; the result is merged only if it is approved."""


class MergeAllBody(Body):
    model_config = example(how="merge")

    how: How = "merge"


class PullBody(Body):
    model_config = example(draft=False)

    draft: bool = False
    """Open a draft. A draft can be opened before the task is approved, and says that it is not."""
    into: Line | None = None
    review: bool = True
    """Also post the last review, once per round."""


class PostedOut(ApiModel):
    """Findings that became comments at their lines, and those in the text of the review."""

    url: str
    in_place: list[str]
    in_text: list[str]


class SyncedOut(ApiModel):
    id: str
    status: str
    pull_request: int | None
    state: str | None
    url: str | None
    opened: list[str]
    resolved: list[str]
    not_taken: int
    notes: list[str]


class PullOut(ApiModel):
    id: str
    url: str
    branch: str
    base: str
    remote: str
    updated: bool
    review: PostedOut | None = None


@router.post("/tasks/{task}/merge", response_model=MergedOut)
def merge_one(app: AppDep, task: TaskNumber, body: MergeBody) -> dict[str, Any]:
    """Like `burnish merge TASK`. The result may need a check or a review with its target first."""
    request = MergeRequest((task,), False, body.how, body.into or None, body.delete_branch, body.commit, body.resolve)
    report = merge(app, request, NullProgress())
    for _, error in report.left:
        raise error
    return report.landed[0].as_json()


@router.post("/merge-verified", response_model=MergesOut)
def merge_verified(app: AppDep, body: Annotated[MergeAllBody, FromBody()] = MergeAllBody()) -> dict[str, Any]:  # noqa: B008
    """Like `burnish merge --all-verified`: tasks that cannot be merged are listed with the reason."""
    return merge(app, MergeRequest(all_verified=True, how=body.how), NullProgress()).as_json()


@router.post("/tasks/{task}/pr", response_model=PullOut)
def pull_request(app: AppDep, task: TaskNumber, body: Annotated[PullBody, FromBody()] = PullBody()) -> dict[str, Any]:  # noqa: B008
    """Like `burnish pr`: push the branch and open a pull request with the user's git and gh."""
    pull = open_pull_request(app, task, draft=body.draft, into=body.into or None)
    review = post_review(app, task) if body.review else None
    return {**pull.as_json(), "review": review.as_json() if review else None}


@router.post("/tasks/{task}/pr/sync", response_model=SyncedOut)
def sync(app: AppDep, task: TaskNumber) -> dict[str, Any]:
    """Like `burnish pr sync TASK`: comments and failed CI runs become findings."""
    return sync_pulls(app, task)[0].as_json()
