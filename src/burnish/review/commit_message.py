"""`commit.message`: the user's template for the subject of a task's commits."""

from __future__ import annotations

from collections.abc import Mapping

from burnish.core.task import Spec
from burnish.review.fence import one_line
from burnish.review.templates import check, fill

WHOSE, NAME = "commit.message", "commit.message"


def commit_variables(
    spec: Spec, *, task: int, cycle: int, max_cycles: int, phase: str, subject: str
) -> dict[str, object]:
    """The variables of the template, each on one line; `task` is the number, `subject` burnish's default."""
    criteria = "; ".join(spec.criteria)
    words = {
        "title": spec.title,
        "description": spec.description,
        "scope": spec.scope,
        "plan": spec.plan,
        "acceptance_criteria": criteria,
        "featureTitle": spec.title,
        "featureDescription": spec.description,
        "featureSpec": spec.plan or spec.description,
    }
    numbers = {"task": task, "cycle": cycle, "max_cycles": max_cycles}
    return {**{key: one_line(text) for key, text in words.items()}, **numbers, "phase": phase, "subject": subject}


def commit_subject(template: str, variables: Mapping[str, object]) -> str:
    return fill(template, variables, whose=WHOSE, name=NAME).strip()


def check_commit_message(template: str) -> None:
    """Raise BadInput for an invalid template, before any agent is called."""
    variables = commit_variables(Spec("x"), task=1, cycle=1, max_cycles=3, phase="implement", subject="feat: x")
    check(template, variables, whose=WHOSE, name=NAME)
