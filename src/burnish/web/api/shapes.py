"""What goes in: the types that requests are made of. What is not expected is refused, not passed over."""

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
    """A request. A misspelt field is an error: it might have been the one that mattered."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def _whole(text: str) -> str:
    """JSON can spell half of a character, and NUL; neither can be kept."""
    if "\x00" in text or any("\ud800" <= sign <= "\udfff" for sign in text):
        raise ValueError("this text holds signs that cannot be kept")
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
# the commit that whoever decides has seen
Seen = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9a-fA-F]{7,64}$"),
    Field(description="The commit that was looked at; refused with 409 if it is another now."),
]
Limit = Annotated[int, Query(ge=1, le=MOST, description="At most so many.")]
Offset = Annotated[int, Query(ge=0, le=2**31, description="Leave out so many from the start.")]


class Reasons(Body):
    """Why it is accepted against the review: the first yes gives the category, without one it takes words."""

    pre_existing: bool = False
    wrong_context: bool = False
    out_of_scope: bool = False
    environmental: bool = False
    follow_up: bool = False
    """Make a task of what is left open."""
    explain: Text = ""

    @property
    def grounds(self) -> OverrideReasons | None:
        """None if nothing was said."""
        answers = (self.pre_existing, self.wrong_context, self.out_of_scope, self.environmental, self.follow_up)
        if not any(answers) and not self.explain.strip():
            return None
        return override_reasons(
            {question.flag: yes for question, yes in zip(QUESTIONS, answers, strict=True)}, self.explain
        )


def example(**value: Any) -> ConfigDict:
    """A body's settings with one example, which the tests send."""
    return ConfigDict(json_schema_extra={"examples": [value]})
