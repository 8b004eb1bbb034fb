"""burnish review TASK --edit"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.cli.output import say, say_json, tell
from burnish.cli.session import open_app
from burnish.errors import BadInput, BurnishError

if TYPE_CHECKING:
    from burnish.core.secrets import Secrets

FORM = "person-review.diff"


def edit_review(number: int, *, as_json: bool) -> int:
    """Open the change with its findings in the editor, and save or send what the person wrote."""
    from burnish import runtime
    from burnish.features.review.drafts import read_draft
    from burnish.features.review.edit_form import read_form, review_form
    from burnish.features.review.person_review import replace_drafts, send_review
    from burnish.features.tasks.editor import editor, open_in
    from burnish.features.tasks.inspect import change_of, without_secrets
    from burnish.git.files import write_whole
    from burnish.views.diff import bare, pinned
    from burnish.views.status import task_json

    runtime.refuse_inside_phase()
    app = open_app()
    task = app.store.task(app.key, number)
    program = editor()
    if not program:
        raise BadInput("$EDITOR is not set.", hint="Set it, e.g. EDITOR=vim.")
    diff = pinned(
        bare(without_secrets(change_of(app, number, since_review=False))), app.store.findings(app.key, number)
    )
    form = review_form(
        f"task {number}: {task.spec.title}", diff, read_draft(app, number).comments, commit=task.commit or ""
    )
    place = app.task_folder(task) / FORM
    write_whole(place, form.encode("utf-8", "surrogateescape"))
    open_in(program, place)
    text = place.read_bytes().decode("utf-8", "surrogateescape")
    if text == form or not text.strip():
        place.unlink()
        tell(f"{'Nothing was changed' if text == form else 'The form is empty'}, so nothing is sent.")
        return 0
    with _keeping(place, app.event_log.secrets):
        review = read_form(text, diff)
        draft = replace_drafts(app, number, review.comments)
        if review.verdict is None:
            place.unlink()
            count = len(draft.comments)
            say(f"Saved {count} comment{'' if count == 1 else 's'} as a draft. Send it: burnish review {number} --edit")
            if review.note:
                tell("The note is not kept without a verdict.")
            return 0
        result = send_review(app, number, review.verdict, note=review.note, commit=task.commit or "")
    place.unlink()
    if as_json:
        say_json({"task": task_json(result.task), "findings": [finding.id for finding in result.findings]})
        return 0
    ids = ", ".join(finding.id for finding in result.findings)
    say(f"Sent your review of task {number}: {review.verdict}{f' ({ids})' if ids else ''}.")
    if result.task.status == "in_progress" and not result.task.runner:
        tell(f"  Have it fixed: burnish run {number}")
    return 0


@contextmanager
def _keeping(place: Path, secrets: Secrets) -> Iterator[None]:
    """An error names the file that has the person's text, without secrets."""
    try:
        yield
    except BurnishError:
        from burnish.adapters.redaction import redact_file

        redact_file(place, secrets)
        copy = place.with_suffix(".rejected")
        place.replace(copy)
        tell(f"Your text is in {copy}")
        raise
