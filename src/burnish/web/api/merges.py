"""Merge what is approved, or open a pull request of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi import Body as FromBody

from burnish.features.merge.merge import MergeRequest, merge
from burnish.features.merge.pull_request import open_pull
from burnish.runtime.ports import NullProgress
from burnish.web.api.answers import ApiModel, MergedOut, MergesOut
from burnish.web.api.shapes import Body, Line, Seen, example
from burnish.web.deps import AppDep, TaskNumber
from burnish.web.problems import PROBLEMS

router = APIRouter(prefix="/api/v1/projects/{project}", tags=["merges"], responses=PROBLEMS)

How = Literal["merge", "squash", "rebase"]


class MergeBody(Body):
    model_config = example(commit="0b9d6a4e2f1c", how="merge")

    commit: Seen
    how: How = "merge"
    into: Line | None = None
    """Another target than the branch it began from."""
    delete_branch: bool = False


class MergeAllBody(Body):
    model_config = example(how="merge")

    how: How = "merge"


class PullBody(Body):
    model_config = example(draft=False)

    draft: bool = False
    """As a draft; it may show what is not approved yet, and says so."""
    into: Line | None = None


class PullOut(ApiModel):
    id: str
    url: str
    branch: str
    base: str
    remote: str
    updated: bool


@router.post("/tasks/{task}/merge", response_model=MergedOut)
def merge_one(app: AppDep, task: TaskNumber, said: MergeBody) -> dict[str, Any]:
    """As `burnish merge TASK`. It may have to be checked or reviewed together with its target first."""
    request = MergeRequest((task,), False, said.how, said.into or None, said.delete_branch, seen=said.commit)
    report = merge(app, request, NullProgress())
    for _, error in report.left:
        raise error
    return report.landed[0].as_json()


@router.post("/merge-verified", response_model=MergesOut)
def merge_verified(app: AppDep, said: Annotated[MergeAllBody, FromBody()] = MergeAllBody()) -> dict[str, Any]:  # noqa: B008
    """As `burnish merge --all-verified`: what cannot be merged is left, with the reason."""
    return merge(app, MergeRequest(all_verified=True, how=said.how), NullProgress()).as_json()


@router.post("/tasks/{task}/pr", response_model=PullOut)
def pull_request(app: AppDep, task: TaskNumber, said: Annotated[PullBody, FromBody()] = PullBody()) -> dict[str, Any]:  # noqa: B008
    """As `burnish pr`: push the branch and open a pull request, by the user's own git and gh."""
    return open_pull(app, task, draft=said.draft, into=said.into or None).as_json()
