"""A change with its findings as one text for an editor, in a form that reads back: comments stand below their lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from burnish.adapters.redaction import redact_file
from burnish.core.finding import Finding
from burnish.core.secrets import Secrets
from burnish.core.text_encoding import escape_invisible
from burnish.errors import BadInput, BurnishError
from burnish.features.review.drafts import DraftComment, FileDrafts, placed_drafts, read_draft
from burnish.features.review.person_review import ReviewVerdict, SentReview, replace_drafts, send_review
from burnish.features.tasks.editor import editor, open_in
from burnish.features.tasks.inspect import change_of, without_secrets
from burnish.git.files import write_whole
from burnish.runtime.app import App
from burnish.runtime.reader import refuse_inside_phase
from burnish.sanitize import clean_text
from burnish.views.diff import Diff, FileDiff, bare, pinned

_FORM = "person-review.diff"

HELP = """\
# Write your comments below the lines that they are about, each line after "> ".
#     > Say which file is missing.
#     > (lines 3-4) A comment on several lines: it stands below the last one.
# A comment below "=== FILE" is about the whole file. Leave all other lines as
# they are; those after "#" are ignored.
#
# The verdict is approve, request_changes or comment. Without one, your comments
# are saved as drafts and not sent.
"""
# Editors read settings in the first and the last lines of a file (vim: five, or as many as its user sets; others: ten),
# Emacs in its last 3,000 characters. No text of a change, of an agent or of a task is there.
FIELDS = "verdict:\nnote:\n#\n#\n#\n"
END = f"#{'-' * 79}\n" * 40
_HEADING = "# Review of "
_SIGNS = {"same": " ", "add": "+", "del": "-"}
_RANGE = re.compile(r"\(lines ([0-9]{1,9})-([0-9]{1,9})\) ?")


@dataclass(frozen=True, slots=True)
class EditedReview:
    verdict: ReviewVerdict | None
    note: str
    comments: tuple[DraftComment, ...]


@dataclass(frozen=True, slots=True)
class ReturnedForm:
    """What became of the form: `reason` says why nothing was done; without `outcome`, its comments are drafts."""

    reason: str = ""
    review: EditedReview | None = None
    draft_count: int = 0
    outcome: SentReview | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    """What a line of the form stands for. A comment below it is about this."""

    text: str
    file: FileDiff
    side: str = "new"
    line: int | None = None


def review_in_editor(app: App, task_id: int, report: Callable[[str], None], *, via: str = "cli") -> ReturnedForm:
    """Open the change with its findings in the editor, and save or send what the person wrote.

    `report` is told where the text is if it is refused.
    """
    refuse_inside_phase()
    task = app.store.task(app.key, task_id)
    program = editor()
    if not program:
        raise BadInput("$EDITOR is not set.", hint="Set it (`export EDITOR=vim`), then start burnish again.")
    change = without_secrets(change_of(app, task_id, since_review=False))
    diff = pinned(bare(change), app.store.findings(app.key, task_id))
    title, drafts = f"task {task_id}: {task.spec.title}", read_draft(app, task_id).comments
    form = review_form(title, diff, drafts, commit=task.commit or "")
    place = app.task_folder(task) / _FORM
    if text := _refused_text(place, form):
        report(f"The form has your text that was refused before: {_refused(place)}. Empty it to begin with a new one.")
        form = text
    write_whole(place, form.encode("utf-8", "surrogateescape"))
    open_in(program, place)
    text = _read(place)
    if not text.strip():
        _refused(place).unlink(missing_ok=True)
    if text == form or not text.strip():
        place.unlink()
        return ReturnedForm("Nothing was changed" if text == form else "The form is empty")
    with _keeping(place, app.event_log.secrets, report):
        review = read_form(text, diff)
        draft = replace_drafts(app, task_id, review.comments)
        outcome = None
        if review.verdict is not None:
            outcome = send_review(app, task_id, review.verdict, note=review.note, commit=task.commit or "", via=via)
    place.unlink()
    _refused(place).unlink(missing_ok=True)
    return ReturnedForm("", review, len(draft.comments), outcome)


def _read(place: Path) -> str:
    return place.read_bytes().decode("utf-8", "surrogateescape")


def _refused(place: Path) -> Path:
    return place.with_suffix(".rejected")


def _refused_text(place: Path, form: str) -> str:
    """What the person wrote before, if it was refused and is about the same commit."""
    file = _refused(place)
    heading = next(line for line in form.split("\n") if line.startswith(_HEADING))
    text = _read(file) if file.is_file() else ""
    return text if heading in text.split("\n") else ""


@contextmanager
def _keeping(place: Path, secrets: Secrets, report: Callable[[str], None]) -> Iterator[None]:
    """If the form is refused, tell which file has the person's text, without secrets."""
    try:
        yield
    except BurnishError:
        redact_file(place, secrets)
        copy = _refused(place)
        place.replace(copy)
        report(f"Your text is in {copy}; the next time, the form begins with it.")
        raise


def review_form(title: str, diff: Diff, drafts: Sequence[DraftComment], *, commit: str) -> str:
    """The text to edit."""
    by_path = placed_drafts(diff.files, drafts)
    parts = [HELP, FIELDS, f"{_HEADING}{_shown(title)}, commit {commit[:12]}\n"]
    for finding in diff.apart:
        parts.append(_finding(finding))
    for file in diff.files:
        parts += _file(file, by_path.get(file.path))
    return "".join([*parts, END])


def _shown(text: str) -> str:
    """One line, in which control and invisible characters are escaped: a person must see them."""
    return escape_invisible(text.removesuffix("\r")).replace("\n", "\\n")


def _file(file: FileDiff, drafts: FileDrafts | None) -> Iterator[str]:
    under: Mapping[int, Sequence[Finding]] = file.under()
    for place in _places(file):
        yield f"{place.text}\n"
        if place.line is None and place.text.startswith("==="):
            yield from (f"# {_shown(note)}\n" for note in file.notes)
            yield from (_finding(finding) for finding in file.elsewhere())
            yield from (_draft(one) for one in (drafts.elsewhere if drafts else ()))
        elif place.line is not None:
            notes = under.get(place.line, ()) if place.side == "new" else ()
            yield from (_finding(finding) for finding in notes)
            yield from (_draft(one) for one in (drafts.under.get((place.side, place.line), ()) if drafts else ()))


def _places(file: FileDiff) -> Iterator[_Place]:
    yield _Place(f"=== {_shown(file.path)}", file)
    for block in file.blocks:
        yield _Place(f"@@ {_shown(block.about)}".rstrip(), file)
        for line in block.lines:
            side, number = ("old", line.old) if line.kind == "del" else ("new", line.new)
            yield _Place(f"{_SIGNS[line.kind]}{_shown(line.text)}", file, side, number)


def _finding(finding: Finding) -> str:
    remark = finding.remark
    words = [f"{finding.id} [{remark.severity}] {finding.state}: {remark.title}", remark.description]
    words += [f"{reply.by}: {reply.text}" for reply in finding.replies]
    return "".join(f"# {_shown(line)}\n" for text in words if text for line in text.split("\n"))


def _draft(comment: DraftComment) -> str:
    text = f"(lines {comment.line}-{comment.end_line}) {comment.text}" if comment.end_line else comment.text
    return "".join(f"> {line}\n" for line in clean_text(text).splitlines()) + "#\n"


def read_form(text: str, diff: Diff) -> EditedReview:
    """The verdict, the note and the comments; raises if other lines were changed."""
    head, lines = _split(text)
    places = [place for file in diff.files for place in _places(file)]
    comments: list[DraftComment] = []
    words: list[str] = []
    at = -1
    for number, line in lines:
        if line.startswith(">"):
            words.append(line[1:].removeprefix(" "))
            continue
        comments += _comment(words, places, at)
        words = []
        if line.startswith("#"):
            continue
        at += 1
        if at >= len(places) or places[at].text.rstrip() != line.rstrip():
            expected = places[at].text if at < len(places) else "the end of the change"
            raise BadInput(
                f"Line {number} of the review differs from the change: {line[:80]!r}.",
                hint=f"Expected {expected[:80]!r}. Write comments after `> `.",
            )
    comments += _comment(words, places, at)
    if at + 1 < len(places):
        raise BadInput(
            "The end of the change is missing in the review.", hint=f"Expected {places[at + 1].text[:80]!r}."
        )
    return EditedReview(_verdict(head.get("verdict", "")), head.get("note", ""), tuple(comments))


def _split(text: str) -> tuple[dict[str, str], list[tuple[int, str]]]:
    """The fields before the first file, and the numbered lines from there on."""
    lines = list(enumerate(text.split("\n"), 1))
    if lines and not lines[-1][1]:
        lines.pop()
    start = next((at for at, (_, line) in enumerate(lines) if line.startswith("===")), len(lines))
    fields: dict[str, str] = {}
    name = ""
    for _, line in lines[:start]:
        if line.startswith("#"):
            continue
        found = re.match(r"(verdict|note):[ \t]*(.*)", line)
        if found:
            name = found[1]
            fields[name] = found[2].strip()
        elif name == "note":
            fields[name] = f"{fields[name]}\n{line.removeprefix('> ')}".strip()
        elif line.strip():
            raise BadInput(f"Unexpected line before the change: {line[:80]!r}.", hint="Write it after `note:`.")
    return fields, lines[start:]


def _comment(words: Sequence[str], places: Sequence[_Place], at: int) -> Iterator[DraftComment]:
    text = "\n".join(words).strip()
    if not text or at < 0:
        return
    place = places[at]
    found = _RANGE.match(text)
    line, end_line = place.line, None
    if found and place.line is not None:
        line, end_line, text = int(found[1]), int(found[2]), text[found.end() :]
        if end_line != place.line or not 1 <= line <= end_line:
            raise BadInput(
                f"(lines {line}-{end_line}) does not end at line {place.line}.",
                hint="Write a comment on several lines below the last one.",
            )
    blob = place.file.file.old_blob if place.side == "old" else place.file.file.new_blob
    yield DraftComment(0, text, place.file.path, blob, line, end_line if end_line != line else None, place.side)


def _verdict(text: str) -> ReviewVerdict | None:
    word = text.strip().lower().replace(" ", "_").replace("-", "_")
    if not word:
        return None
    try:
        return ReviewVerdict(word)
    except ValueError:
        choices = ", ".join(ReviewVerdict)
        raise BadInput(f"Unknown verdict {text.strip()[:40]!r}.", hint=f"Choose from: {choices}.") from None
