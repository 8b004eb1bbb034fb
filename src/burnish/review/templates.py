"""Renders prompts and commit messages: the shipped templates, or the user's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.resources import files

from burnish.core.task import Spec
from burnish.errors import BadInput, NotFound
from burnish.review.quoting import one_line

NAMES = ("review.system", "review.template", "fix.template", "implement.template", "plan.template")

# longest template
MAX_LENGTH = 200_000
# variables that are numbers
_NUMBERS = ("cycle", "max_cycles")
# automaker's spelling with single braces: {featureTitle} {gitDiff} …; allowed for all variables
_ONE_BRACE = re.compile(r"(?<!\{)\{([A-Za-z][A-Za-z0-9_]*)\}(?!\})")


def shipped(name: str) -> str:
    """The default text of a prompt."""
    if name not in NAMES:
        raise NotFound(f"There is no prompt {name!r}.", hint=f"Known prompts: {', '.join(NAMES)}.")
    return (files("burnish.review") / "prompts" / f"{name}.md.j2").read_text(encoding="utf-8")


def render(name: str, variables: Mapping[str, object], override: str | None = None) -> str:
    """Render the prompt; `override` is the user's own template."""
    whose = f"the prompt {name}" if override is None else f"your own prompt {name}"
    text = shipped(name) if override is None else _normalize(override, whose)
    _refuse_unknown(text, variables, whose, name)
    return _render(text, variables, whose, name)


def fill(text: str, variables: Mapping[str, object], *, whose: str, name: str) -> str:
    """Render a user's template that is not a prompt."""
    text = _normalize(text, whose)
    _refuse_unknown(text, variables, whose, name)
    return _render(text, variables, whose, name)


def check(text: str, variables: Iterable[str], *, whose: str, name: str) -> None:
    """Raise BadInput for an invalid template, an unknown variable, or a template that cannot be rendered."""
    text, names = _normalize(text, whose), set(variables)
    _refuse_unknown(text, names, whose, name)
    _render(text, {one: 1 if one in _NUMBERS else one for one in names}, whose, name)


def _refuse_unknown(text: str, variables: Iterable[str], whose: str, name: str) -> None:
    from burnish.review.template_sandbox import MISTAKES, used_variables

    try:
        unknown = used_variables(text) - set(variables)
    except MISTAKES as why:
        raise _render_error(whose, why, name) from None
    if unknown:
        raise BadInput(
            f"Unknown variable {', '.join(sorted(unknown))} in {whose}.",
            hint=f"Known variables: {', '.join(sorted(variables))}.",
        )


def _render(text: str, variables: Mapping[str, object], whose: str, name: str) -> str:
    from burnish.review.template_sandbox import MISTAKES, render_template

    try:
        return render_template(text, variables)
    except MISTAKES as why:
        raise _render_error(whose, why, name) from None


def _render_error(whose: str, why: BaseException, name: str) -> BadInput:
    from burnish.review.template_sandbox import ALLOWED

    deep = isinstance(why, RecursionError | SyntaxError | MemoryError)
    reason = "it is nested too deeply" if deep else (str(why) or type(why).__name__).rstrip(".")
    return BadInput(
        f"Cannot render {whose}: {reason}.",
        hint=f"Prompts allow {ALLOWED}." + _reset_hint(name),
    )


def _reset_hint(name: str) -> str:
    """A hint how to restore the default; "" for `commit.message`, which is a setting."""
    return f" `burnish prompts reset {name}` restores the default." if name in NAMES else ""


def _normalize(text: str, whose: str) -> str:
    """`{gitDiff}` → `{{ gitDiff }}`, so that unknown variables in single braces are refused, too."""
    if len(text) > MAX_LENGTH:
        raise BadInput(f"{whose} has {len(text):,} characters; the limit is {MAX_LENGTH:,}.", hint="Shorten it.")
    return _ONE_BRACE.sub(r"{{ \1 }}", text)


# -- commit message -------------------------------------------------------------------------------
# `commit.message`: the user's template for the subject of a task's commits.

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


# -- variable docs --------------------------------------------------------------------------------
# Descriptions of the variables of prompts.

_TASK = {
    "title": "the task's title",
    "description": "the task's description, as it was written",
    "acceptance_criteria": "what must hold for the task to be done",
    "featureTitle": "the title, under automaker's name for it",
    "featureDescription": "the description, under automaker's name for it",
    "featureSpec": "the plan, or the description where there is none, under automaker's name for it",
}
_ROUND = {
    "cycle": "the number of this cycle, from 1",
    "max_cycles": "how many cycles there may be",
}
_ASKED = {
    "scope": "what belongs to the task and what does not",
    "task_checklist": "the checklist, ticked items marked",
    "plan": "the plan: the task's own and those of plan tasks it depends on",
    "project_context": "AGENTS.md, CLAUDE.md, REVIEW.md and .burnish/context, from the base",
    "previous_errors": "what went wrong the last time it was tried",
}
_REVIEW = {
    **_TASK,
    **_ROUND,
    **_ASKED,
    "task": "the description, marked as data",
    "earlier_findings": "findings of earlier cycles that are still to be ruled on",
    "code_changes": "the whole change as a diff, packed to fit; left out files are named",
    "git_diff": "the same as code_changes",
    "gitDiff": "the same as code_changes, under automaker's name for it",
    "changes_since_last_review": "from cycle 2: only what changed since the last review",
    "target_changes": "what the target changed where the author resolved conflicts; appended where it is left out",
    "test_results": "how the tests went",
    "baseline_context": "how the tests went before the change: which failures are new",
    "lint_status": "what the linter says",
    "session_log": "the end of the author's own log, where review.context.session_log is on",
    "may_edit": "true where the reviewer may fix what it finds (review.may_fix)",
    "output": "how the verdict is to be written; appended by itself where it is left out",
}
_FIX = {
    **_TASK,
    **_ROUND,
    "task": "the description, cut to 1 KB",
    "scope": "what belongs to the task and what does not, cut to 512 bytes",
    "plan": "the plan, cut to 768 bytes",
    "conflict": "the conflicts of a merge with the target, and what both sides wanted; appended where it is left out",
    "guidance": "what a person said should be changed",
    "review": "the reviewer's summary, why it was not accepted, and what the reviewer wrote (2 KB)",
    "findings": "the open findings, errors first",
    "failing_checks": "tests and checks that newly fail, with their messages",
    "code": "the code that findings point at, as it is now",
    "tried": "what earlier cycles did already, and the diff that a cut attempt left",
    "stay_resolved": "findings that are resolved and must stay so",
    "decided": "what people waived or overrode: to be left as it is",
    "history": "with fix.history: full, the original prompt and every earlier review",
    "rules": "how to dispute a finding, and what not to do",
}
_IMPLEMENT = {
    **_TASK,
    **_ASKED,
    "task": "the description: the order itself",
    "rescued_work": "what a cut attempt left behind",
    "judging": "which checks will be run, and that a review follows",
    "rules": "what the agent may and may not do",
}


def variable_descriptions(name: str) -> Mapping[str, str]:
    """Variable → description, for the prompt of that name."""
    return {"fix.template": _FIX, "implement.template": _IMPLEMENT}.get(name, _REVIEW)
