"""Decisions of a person. Each names the commit that it is about."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi import Body as FromBody
from pydantic import Field

from burnish.adapters.answer_codes import redeemed_code
from burnish.core.gate import GateChoice, GateDecision
from burnish.core.status import Status
from burnish.errors import Refused
from burnish.features.decide import decisions as people
from burnish.views.status import task_json
from burnish.web.api.schemas import Body, Reasons, Seen, TaskOut, Text, example
from burnish.web.auth import ANSWER
from burnish.web.deps import AppDep, RegistryDep, TaskNumber, Via
from burnish.web.problems import PROBLEMS

answers = APIRouter()
router = APIRouter(prefix="/api/v1/projects/{project}", tags=["decisions"], responses=PROBLEMS)

# a request without a status must not repeat a decision that someone else has made
UNDECIDED = (Status.WAITING_APPROVAL, Status.BLOCKED)


class DecideBody(Body):
    model_config = example(choice="fix", note="Say why in the message.", commit="0b9d6a4e2f1c")

    choice: GateChoice
    commit: Seen
    note: Text = ""
    """Kept with the decision and sent to the agent that fixes the findings."""
    grounds: Reasons = Reasons()
    """Required if an approval overrides the review."""
    status: Status | None = None
    """The expected status; refused with 409 if the task has another. Default: waiting_approval or blocked."""


class OverrideBody(Body):
    model_config = example(commit="0b9d6a4e2f1c", grounds={"pre_existing": True, "explain": "It was so before."})

    commit: Seen
    grounds: Reasons


class DoneBody(Body):
    model_config = example(grounds={"explain": "Merged by hand."})

    commit: Seen | None = None
    grounds: Reasons = Reasons()
    """Required if the task is not approved: closing it is then an override."""


@router.post("/tasks/{task}/decide", response_model=TaskOut)
def decide(app: AppDep, via: Via, task: TaskNumber, body: DecideBody) -> dict[str, Any]:
    """Like `burnish decide`. `fix` does not start the fix: run the task to do so."""
    statuses = (body.status,) if body.status else UNDECIDED
    answer = GateDecision(body.choice, body.note, body.commit, body.grounds.grounds, among=statuses)
    return task_json(people.decide(app, task, answer, via=via))


class AnswerBody(Body):
    code: Annotated[str, Field(max_length=200)]


@answers.post(ANSWER, include_in_schema=False)
def answer(request: Request, registry: RegistryDep, body: AnswerBody) -> dict[str, Any]:
    """The button of a notification: one decision, once, about the commit that the notification named."""
    # behind a tunnel: the tunnel's; a header that names another address could come from anyone
    where = request.client.host if request.client else "unknown address"
    with redeemed_code(registry.home, body.code) as (found, choice):
        app = registry.open(found.project)
        if app.store.task(app.key, found.task).run != found.run:
            raise Refused(f"Task {found.task} was started again since.", hint="Open the board, or run `burnish inbox`.")
        if choice in people.ACCEPTING and people.unseen_files(app, found.task):
            # the notification does not describe them, and an approval accepts them
            what = f"Task {found.task} has files that no reviewer could be shown."
            raise Refused(what, hint="Open the board, or run `burnish inbox`.")
        decision = GateDecision(choice, "", found.commit, None, among=(Status.WAITING_APPROVAL,))
        task = people.decide(app, found.task, decision, via=f"phone, {where}")
    return {"id": str(task.id), "status": task.status.value}


@router.post("/tasks/{task}/override", response_model=TaskOut)
def override(app: AppDep, via: Via, task: TaskNumber, body: OverrideBody) -> dict[str, Any]:
    """Like `burnish override`: accept the task against its review and record the reason."""
    return task_json(people.override(app, task, body.grounds.grounds, commit=body.commit, via=via))


@router.post("/tasks/{task}/done", response_model=TaskOut)
def done(app: AppDep, via: Via, task: TaskNumber, body: Annotated[DoneBody, FromBody()] = DoneBody()) -> dict[str, Any]:  # noqa: B008
    """Like `burnish done`: close a task manually, e.g. one that was merged elsewhere."""
    return task_json(people.done(app, task, body.grounds.grounds, commit=body.commit or "", via=via))
