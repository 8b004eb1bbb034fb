"""External reviews: hand a task over to a reviewer, and record the reviewer's reply."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from fastapi import Body as FromBody

from burnish.core.review import Verdict
from burnish.features.review.external_review import ReviewFile, bring_review
from burnish.features.review.handoff import hand_off
from burnish.runtime.ports import NullProgress
from burnish.views.status import task_json
from burnish.views.task import review_json
from burnish.web.api.schemas import ApiModel, Body, FindingOut, Line, Seen, TaskOut, Text, example
from burnish.web.deps import AppDep, ProjectDep, RegistryDep, TaskNumber
from burnish.web.problems import PROBLEMS

router = APIRouter(prefix="/api/v1/projects/{project}", tags=["reviews"], responses=PROBLEMS)


class HandoffBody(Body):
    model_config = example(force=False)

    force: bool = False
    """Hand over the committed state, even if other files block it."""


class HandedOut(ApiModel):
    id: str
    status: str
    cycle: int
    commit: str
    number: str
    """The nonce that the review must contain."""
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
    """Name of the review in messages."""
    verdict: Verdict | None = None
    """Verdict, if the text does not contain one."""
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
def handoff(app: AppDep, task: TaskNumber, body: Annotated[HandoffBody, FromBody()] = HandoffBody()) -> dict[str, Any]:  # noqa: B008
    """Like `burnish handoff`: the prompt, the checkout and the file for the reply."""
    return hand_off(app, task, force=body.force).as_json()


class ReadingOut(ApiModel):
    file: str
    verdict: str
    place: str
    """Where the verdict was read: a line, the front matter, a block, a field, or `--verdict`."""
    findings: int
    rulings: dict[str, str]


class ImportedReviewOut(TaskOut):
    read: ReadingOut
    """What was read from the text. Other text is stored and decides nothing."""


@router.post("/tasks/{task}/review-from", response_model=ImportedReviewOut)
def review_from(app: AppDep, task: TaskNumber, body: ExternalReviewBody) -> dict[str, Any]:
    """Like `burnish review TASK --from FILE`: record the review of a person or tool as a separate cycle."""
    review = ReviewFile(body.name.strip() or "The review", body.text, body.verdict, body.commit)
    import_result = bring_review(app, task, review, NullProgress())
    return {**task_json(import_result.task), "read": import_result.reading}


@router.get("/tasks/{task}/review-json", response_model=ReviewOut)
def last_review(registry: RegistryDep, project: ProjectDep, task: TaskNumber) -> dict[str, Any]:
    """Like `burnish review TASK --json`: the newest review and the open findings."""
    registry.store.task(project.key, task)
    return review_json(registry.store, project.key, task)
