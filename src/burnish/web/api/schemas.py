"""Types of requests and responses. Unknown fields of requests are rejected; fields of responses stay."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, WithJsonSchema

from burnish.core.override import QUESTIONS, OverrideReasons, override_reasons
from burnish.core.task import task_id
from burnish.errors import BadInput

MAX_LENGTH = 200_000
MAX_ITEMS = 1000


class Body(BaseModel):
    """A request body. An unknown field is an error, so that a typo does not go unnoticed."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def _whole(text: str) -> str:
    """Reject NUL and lone surrogates: JSON can contain them, but they cannot be stored."""
    if "\x00" in text or any("\ud800" <= sign <= "\udfff" for sign in text):
        raise ValueError("the text contains NUL or invalid Unicode characters")
    return text


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return task_id(value)
    except BadInput as error:
        raise ValueError(error.what) from None


Text = Annotated[str, StringConstraints(max_length=MAX_LENGTH), AfterValidator(_whole)]
Line = Annotated[str, StringConstraints(max_length=1000), AfterValidator(_whole)]
# a task in a body: 29, "29" or "T29"
TaskRef = Annotated[
    int,
    Field(strict=True, ge=1, le=999_999_999),
    BeforeValidator(_number),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": 999_999_999},
                {"type": "string", "pattern": "^[Tt]?[1-9][0-9]{0,8}$"},
            ],
            "examples": [29, "29"],
        }
    ),
]
# the commit that a decision is about
Seen = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9a-fA-F]{7,64}$"),
    Field(description="The commit that the decision is about; refused with 409 if the task has a newer one."),
]
Limit = Annotated[int, Query(ge=1, le=MAX_ITEMS, description="Maximum number of results.")]
Offset = Annotated[int, Query(ge=0, le=2**31, description="Number of results to skip.")]


class Reasons(Body):
    """Reasons for an override: the first true one gives the category; without one `explain` is required."""

    pre_existing: bool = False
    wrong_context: bool = False
    out_of_scope: bool = False
    environmental: bool = False
    follow_up: bool = False
    """Create a follow-up task for the open findings."""
    explain: Text = ""

    @property
    def grounds(self) -> OverrideReasons | None:
        """None if no reason was given."""
        answers = (self.pre_existing, self.wrong_context, self.out_of_scope, self.environmental, self.follow_up)
        if not any(answers) and not self.explain.strip():
            return None
        return override_reasons(
            {question.flag: yes for question, yes in zip(QUESTIONS, answers, strict=True)}, self.explain
        )


def example(**value: Any) -> ConfigDict:
    """Model settings with one example, which the tests send."""
    return ConfigDict(json_schema_extra={"examples": [value]})


# -- answers --------------------------------------------------------------------------------------
# Types of responses. Fields named here stay in later versions.

EXAMPLE: dict[str, Any] = {
    "id": "29",
    "project": "shop-1f3a",
    "title": "Refuse empty passwords",
    "type": "implement",
    "status": "verified",
    "reason": None,
    "error": None,
    "final_verdict": "APPROVED",
    "cycle": 2,
    "max_cycles": 3,
    "review_status": "passed",
    "open_findings": 0,
    "branch": "burnish/29-refuse-empty-passwords",
    "base": "5f0c1e7d9b7a4d3f8a51c6f0e4d2b1a09c8e7f65",
    "commit": "0b9d6a4e2f1c8b7a6d5e4f3c2b1a09f8e7d6c5b4",
    "agent": "claude",
    "model": None,
    "auto_review": True,
    "priority": 0,
    "cost_usd": 0.42,
    "cost_source": "program",
    "tokens": 18042,
    "depends_on": ["12"],
    "overrides": 0,
    "waits_for": None,
    "usage_limit": None,
    "paused": False,
    "tags": ["login"],
    "needs": [],
    "archived": False,
    "issues_fixed": 0,
    "created_at": "2027-01-31T22:04:11.120Z",
    "updated_at": "2027-01-31T22:19:40.087Z",
}


class ApiModel(BaseModel):
    """A response. Later versions may add fields."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)


class LimitOut(ApiModel):
    login: str
    until: str
    is_known: bool
    """False: the program did not say when the limit ends; it is tried again then."""
    message: str
    since: str


class TaskOut(ApiModel):
    """A task, as in `burnish status --json`."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    id: str
    project: str
    title: str
    type: str
    status: str
    reason: str | None
    error: str | None
    final_verdict: str | None
    cycle: int
    max_cycles: int
    review_status: str | None
    open_findings: int
    branch: str | None
    base: str | None
    commit: str | None
    """The newest commit. Pass it with a decision."""
    agent: str | None
    model: str | None
    auto_review: bool
    priority: int
    cost_usd: float | None
    """Null if it is unknown."""
    cost_source: str | None
    """`program`, `list`, `mixed`, `partial` (a lower bound) or `unknown`; null before the first call."""
    tokens: int
    depends_on: list[str]
    overrides: int
    waits_for: str | None
    usage_limit: LimitOut | None
    """The usage limit that it waits for, of a running task or one in the backlog; null if it waits for none. Only
    where a task is read or listed."""
    paused: bool
    tags: list[str]
    needs: list[str]
    """Labels of the machine that may run it."""
    archived: bool
    """Left out of lists and the board, once it is finished."""
    issues_fixed: int
    created_at: str
    updated_at: str


class FindingOut(ApiModel):
    """A problem in the change. Its id is the same in all cycles."""

    id: str
    state: str
    category: str
    severity: str
    title: str
    description: str
    suggestion: str
    file: str | None
    line: int | None
    end_line: int | None
    quote: str
    rule: str | None
    confidence: float | None
    first_cycle: int
    last_cycle: int
    reviewers: list[str]
    waiver: dict[str, Any] | None


class RuledOut(FindingOut):
    """A finding after a person's ruling, and the status of its task."""

    task: str
    task_status: str


class EventOut(ApiModel):
    """An event. Ids increase within a project; `since` returns the events after an id."""

    id: int
    ts: str
    project: str
    task: str | None
    run: int
    cycle: int
    type: str
    data: dict[str, Any]


class StoryOut(TaskOut):
    """A task with its history, as in `burnish show --json`."""

    description: str
    scope: str
    criteria: list[str]
    checklist: list[dict[str, Any]]
    plan: str
    cycles: list[dict[str, Any]]
    findings: list[FindingOut]
    events: list[EventOut]


class TasksOut(ApiModel):
    tasks: list[TaskOut]
    total: int


class PlannedOut(ApiModel):
    """The tasks that the run starts with, in order; with `all`, more tasks follow when they become ready."""

    planned: list[str]


class AutoOut(ApiModel):
    """Whether every task of the project is run as it becomes ready; the options only if it is on."""

    on: bool
    jobs: int | None = None
    until: str | None = None
    budget: float | None = None


class StoppedOut(ApiModel):
    """Ids of the runs that are being stopped; `GET /api/v1/server` lists the active ones."""

    stopped: list[str]


class FindingsOut(ApiModel):
    id: str
    findings: list[FindingOut]


class EventsOut(ApiModel):
    events: list[EventOut]
    last: int
    """The newest event id of the project, for paging."""


class MergedOut(ApiModel):
    id: str
    into: str
    commit: str
    how: str
    rechecked: bool


class LeftOut(ApiModel):
    id: str
    status: str
    why: str
    hint: str
    conflicts: list[str]


class MergesOut(ApiModel):
    merged: list[MergedOut]
    left: list[LeftOut]
