"""burnish review TASK --edit"""

from __future__ import annotations

from burnish.cli.output import say, say_json, tell
from burnish.cli.session import open_app


def edit_review(number: int, *, as_json: bool) -> int:
    """Open the change with its findings in the editor, and print what became of what the person wrote."""
    from burnish.features.review.edit_form import review_in_editor
    from burnish.runtime import refuse_inside_phase
    from burnish.views.status import task_json

    refuse_inside_phase()
    form = review_in_editor(open_app(), number, tell)
    if form.review is None:
        tell(f"{form.reason}, so nothing is sent.")
        return 0
    if form.outcome is None:
        plural = "" if form.draft_count == 1 else "s"
        say(f"Saved {form.draft_count} comment{plural} as a draft. Send it: burnish review {number} --edit")
        if form.review.note:
            tell("The note is not kept without a verdict.")
        return 0
    if as_json:
        ids = [finding.id for finding in form.outcome.findings]
        say_json({"task": task_json(form.outcome.task), "findings": ids})
        return 0
    ids_text = ", ".join(finding.id for finding in form.outcome.findings)
    say(f"Sent your review of task {number}: {form.review.verdict}{f' ({ids_text})' if ids_text else ''}.")
    if form.outcome.task.status == "in_progress" and not form.outcome.task.runner:
        tell(f"  Have it fixed: burnish run {number}")
    return 0
