"""Descriptions of the variables of prompts."""

from __future__ import annotations

from collections.abc import Mapping

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
