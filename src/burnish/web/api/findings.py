"""Findings: list, comment, waive, resolve, reopen, reply."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi import Body as FromBody

from burnish.core.finding import Finding
from burnish.features.tasks.edit import (
    comment_on,
    reopen_finding,
    reply_to_finding,
    resolve_finding,
    waive_finding,
)
from burnish.runtime.app import App
from burnish.runtime.tasks import refuse_past
from burnish.views.task import finding_json, ruled_json
from burnish.web.api.schemas import Body, FindingsOut, RuledOut, Text, example
from burnish.web.deps import AppDep, ProjectDep, RegistryDep, TaskNumber, Via
from burnish.web.problems import PROBLEMS

router = APIRouter(prefix="/api/v1/projects/{project}", tags=["findings"], responses=PROBLEMS)

FindingId = Annotated[str, Path(description="The finding, e.g. F2.", max_length=20)]


class WaiveBody(Body):
    model_config = example(reason="The caller never passes 0.", until="2099-01-31")

    reason: Text
    """Why the finding is accepted; recorded with it."""
    until: date | None = None
    """Last day of the waiver. Default: no end."""


class CommentBody(Body):
    model_config = example(text="Say in the message which file is missing.")

    text: Text
    """What the author must change."""


class ResolveBody(Body):
    model_config = example(reason="Done by hand.")

    reason: Text = ""


class ReplyBody(Body):
    model_config = example(text="Only for the first line of the file.")

    text: Text
    """What the author and the reviewers should know."""


class ReopenBody(Body):
    model_config = example(reason="It is still there on Windows.")

    reason: Text = ""


@router.get("/tasks/{task}/findings", response_model=FindingsOut)
def findings(
    registry: RegistryDep,
    project: ProjectDep,
    task: TaskNumber,
    alive: Annotated[bool, Query(alias="open", description="Only open findings.")] = False,
) -> dict[str, Any]:
    """Like `burnish findings --json`."""
    registry.store.task(project.key, task)
    found = [one for one in registry.store.findings(project.key, task) if one.alive or not alive]
    return {"id": str(task), "findings": [finding_json(one) for one in found]}


@router.post("/tasks/{task}/comments", response_model=RuledOut)
def comment(app: AppDep, task: TaskNumber, body: CommentBody, via: Via) -> dict[str, Any]:
    """Like `burnish comment`: a finding that the next improve phase settles. An approval becomes void."""
    return _ruled(app, task, comment_on(app, task, body.text, via=via))


@router.post("/tasks/{task}/findings/{finding}/waive", response_model=RuledOut)
def waive(app: AppDep, task: TaskNumber, finding: FindingId, body: WaiveBody) -> dict[str, Any]:
    """Like `burnish waive`: accept the finding."""
    if body.until:
        refuse_past(body.until)
    return _ruled(app, task, waive_finding(app, task, finding, reason=body.reason, until=body.until))


@router.post("/tasks/{task}/findings/{finding}/reopen", response_model=RuledOut)
def reopen(
    app: AppDep,
    task: TaskNumber,
    finding: FindingId,
    body: Annotated[ReopenBody, FromBody()] = ReopenBody(),  # noqa: B008
) -> dict[str, Any]:
    """Like `burnish reopen`: an approval that relied on the finding being settled becomes void."""
    return _ruled(app, task, reopen_finding(app, task, finding, reason=body.reason))


@router.post("/tasks/{task}/findings/{finding}/resolve", response_model=RuledOut)
def resolve(
    app: AppDep,
    task: TaskNumber,
    finding: FindingId,
    body: Annotated[ResolveBody, FromBody()] = ResolveBody(),  # noqa: B008
) -> dict[str, Any]:
    """Like `burnish resolve`: close a finding that a person raised. Others are waived, or resolved by a review."""
    return _ruled(app, task, resolve_finding(app, task, finding, reason=body.reason))


@router.post("/tasks/{task}/findings/{finding}/reply", response_model=RuledOut)
def reply(app: AppDep, task: TaskNumber, finding: FindingId, body: ReplyBody) -> dict[str, Any]:
    """Like `burnish comment --on F2`: an answer that the author reads with the finding. Its state stays."""
    return _ruled(app, task, reply_to_finding(app, task, finding, body.text))


def _ruled(app: App, task: int, finding: Finding) -> dict[str, Any]:
    return ruled_json(finding, app.store.task(app.key, task))
