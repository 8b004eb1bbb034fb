"""automaker's request for a review. Its paths must belong to a project and task of burnish."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BeforeValidator, Field, WithJsonSchema

from burnish.core.task import Task
from burnish.errors import NotFound
from burnish.features.review.single_review import FAILED, review_once
from burnish.features.server.registry import ProjectRegistry
from burnish.runtime.app import App
from burnish.web.api.schemas import ApiModel, Body, Line, example
from burnish.web.deps import RegistryDep
from burnish.web.problems import PROBLEMS

router = APIRouter(prefix="/api/code-review", tags=["automaker"], responses=PROBLEMS)

_FEATURE = re.compile(r"(?:feature-|[Tt])?0*([1-9][0-9]{0,8})", re.ASCII)


def _word(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


# a number or its digits
FeatureId = Annotated[
    Line,
    BeforeValidator(_word),
    WithJsonSchema({"anyOf": [{"type": "string", "maxLength": 1000}, {"type": "integer"}], "examples": ["29", 29]}),
]


class ReviewRequestBody(Body):
    model_config = example(
        projectPath="/path/to/project",
        featureId="29",
        iterationNumber=1,
        worktreePath="/path/to/workspaces/29-refuse-empty-passwords",
    )

    projectPath: Line
    """The checkout of a project that burnish knows."""
    featureId: FeatureId
    """The task: `29`, `T29` or `feature-29`."""
    iterationNumber: Annotated[int, Field(ge=1, le=1_000_000)]
    """The cycle that the task is in."""
    worktreePath: Line | None = None
    """The task's workspace, as `burnish path` prints it."""


class ReviewedOut(ApiModel):
    success: bool
    featureId: str
    iterationNumber: int
    status: Literal["approved", "rejected", "failed"]


@router.post("/generate-review", response_model=ReviewedOut)
def generate_review(registry: RegistryDep, body: ReviewRequestBody) -> dict[str, Any]:
    """Review a task that is in `code_review`. Responds when the review is finished; events report its progress."""
    app = _project(registry, body.projectPath)
    task = _task(app, body.featureId)
    if body.worktreePath is not None and _real(body.worktreePath) != _real(app.repository.path(task)):
        raise NotFound("This is not the workspace of that task.", hint=f"`burnish path {task.id}` prints it.")
    status = review_once(app, task.id, body.iterationNumber)
    facts = {"featureId": body.featureId, "iterationNumber": body.iterationNumber}
    return {"success": status != FAILED, **facts, "status": status}


def _project(registry: ProjectRegistry, path: str) -> App:
    found = [row for row in registry.projects() if Path(path).is_absolute() and _real(row.root) == _real(path)]
    if not found:
        raise NotFound("No burnish project has that path.", hint="`burnish projects` lists them.")
    return registry.open(found[0].key)


def _task(app: App, feature: str) -> Task:
    number = _FEATURE.fullmatch(feature.strip())
    if number is None:
        raise NotFound("There is no such task.", hint="A task is a number, e.g. 29.")
    return app.store.task(app.key, int(number[1]))


def _real(path: Path | str) -> str:
    return os.path.realpath(path)
