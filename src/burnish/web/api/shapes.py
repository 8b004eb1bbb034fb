"""Types of request bodies and parameters. Unknown fields are rejected."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, WithJsonSchema

from burnish.core.override import QUESTIONS, OverrideReasons, override_reasons
from burnish.core.task import task_id
from burnish.errors import BadInput

LONGEST = 200_000
MOST = 1000


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


Text = Annotated[str, StringConstraints(max_length=LONGEST), AfterValidator(_whole)]
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
Limit = Annotated[int, Query(ge=1, le=MOST, description="Maximum number of results.")]
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
