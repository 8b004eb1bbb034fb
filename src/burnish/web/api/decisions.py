"""What a person decides on the commit that the person saw."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from fastapi import Body as FromBody

from burnish.core.gate import GateChoice, GateDecision
from burnish.core.status import Status
from burnish.features.decide import decisions as people
from burnish.views.task import task_json
from burnish.web.api.answers import TaskOut
from burnish.web.api.shapes import Body, Reasons, Seen, Text, example
from burnish.web.deps import AppDep, TaskNumber, Via
from burnish.web.problems import PROBLEMS

router = APIRouter(prefix="/api/v1/projects/{project}", tags=["decisions"], responses=PROBLEMS)

# what somebody else has decided already is not decided again by an order that knows nothing of it
UNDECIDED = (Status.WAITING_APPROVAL, Status.BLOCKED)


class DecideBody(Body):
    model_config = example(choice="fix", note="Say why in the message.", commit="0b9d6a4e2f1c")

    choice: GateChoice
    commit: Seen
    note: Text = ""
    """For the record, and for who fixes."""
    grounds: Reasons = Reasons()
    """Why, where approving goes against the review."""
    status: Status | None = None
    """The status that it was seen in; refused with 409 if it is another now. Left out: it has to wait or be blocked."""


class OverrideBody(Body):
    model_config = example(commit="0b9d6a4e2f1c", grounds={"pre_existing": True, "explain": "It was so before."})

    commit: Seen
    grounds: Reasons


class DoneBody(Body):
    model_config = example(grounds={"explain": "Merged by hand."})

    commit: Seen | None = None
    grounds: Reasons = Reasons()
    """Why, where the task is not approved: it is an override then."""


@router.post("/tasks/{task}/decide", response_model=TaskOut)
def decide(app: AppDep, via: Via, task: TaskNumber, said: DecideBody) -> dict[str, Any]:
    """As `burnish decide`. A fix is ordered, not begun: run the task then."""
    seen = (said.status,) if said.status else UNDECIDED
    answer = GateDecision(said.choice, said.note, said.commit, said.grounds.grounds, among=seen)
    return task_json(people.decide(app, task, answer, via=via))


@router.post("/tasks/{task}/override", response_model=TaskOut)
def override(app: AppDep, via: Via, task: TaskNumber, said: OverrideBody) -> dict[str, Any]:
    """As `burnish override`: accept it against its review, with the reason on record."""
    return task_json(people.override(app, task, said.grounds.grounds, commit=said.commit, via=via))


@router.post("/tasks/{task}/done", response_model=TaskOut)
def done(app: AppDep, via: Via, task: TaskNumber, said: Annotated[DoneBody, FromBody()] = DoneBody()) -> dict[str, Any]:  # noqa: B008
    """As `burnish done`: close a task by hand, e.g. one that was merged elsewhere."""
    return task_json(people.done(app, task, said.grounds.grounds, commit=said.commit or "", via=via))
