"""Reviewers outside: hand a task over, take what they wrote."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from fastapi import Body as FromBody

from burnish.core.review import Verdict
from burnish.features.review.external_review import ReviewFile, bring_review
from burnish.features.review.handoff import hand_off
from burnish.runtime.ports import NullProgress
from burnish.views.task import review_json, task_json
from burnish.web.api.answers import ApiModel, FindingOut, TaskOut
from burnish.web.api.shapes import Body, Line, Seen, Text, example
from burnish.web.deps import AppDep, ProjectDep, RegistryDep, TaskNumber
from burnish.web.problems import PROBLEMS

router = APIRouter(prefix="/api/v1/projects/{project}", tags=["reviews"], responses=PROBLEMS)


class HandoffBody(Body):
    model_config = example(force=False)

    force: bool = False
    """Hand over what is committed, whatever else lies there."""


class HandedOut(ApiModel):
    id: str
    status: str
    cycle: int
    commit: str
    number: str
    """The secret number that the review has to name."""
    checkout: str
    file: str
    prompt: str
    blocking: list[str]
    benign: list[str]


class ExternalReviewBody(Body):
    model_config = example(text="Approved. It does what was asked for.", name="review.md", verdict="approved")

    text: Text
    """Markdown, contract JSON, SARIF or rdjson."""
    name: Line = "The review"
    """What it is called in messages."""
    verdict: Verdict | None = None
    """What a review without a verdict says."""
    commit: Seen | None = None
    """The commit that was reviewed."""


class ReviewOut(ApiModel):
    verdict: str | None
    summary: str
    findings: list[FindingOut]
    inspected: list[str]
    not_shown: list[str]
    checks: list[dict[str, Any]]
    """The newest run of each check, as in `cycles[].checks` of a task."""
    notes: list[str]
    judged_by: list[str]


@router.post("/tasks/{task}/handoff", response_model=HandedOut)
def handoff(app: AppDep, task: TaskNumber, said: Annotated[HandoffBody, FromBody()] = HandoffBody()) -> dict[str, Any]:  # noqa: B008
    """As `burnish handoff`: the prompt, the files and the place to write."""
    return hand_off(app, task, force=said.force).as_json()


@router.post("/tasks/{task}/review-from", response_model=TaskOut)
def review_from(app: AppDep, task: TaskNumber, given: ExternalReviewBody) -> dict[str, Any]:
    """As `burnish review TASK --from FILE`: a person's or another tool's review, as a cycle of its own."""
    offered = ReviewFile(given.name.strip() or "The review", given.text, given.verdict, given.commit)
    return task_json(bring_review(app, task, offered, NullProgress()))


@router.get("/tasks/{task}/review-json", response_model=ReviewOut)
def last_review(registry: RegistryDep, project: ProjectDep, task: TaskNumber) -> dict[str, Any]:
    """As `burnish review TASK --json` prints it: the newest review, and what is open."""
    registry.store.task(project.key, task)
    return review_json(registry.store, project.key, task)
