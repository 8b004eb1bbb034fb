"""The static reviewer's judgement: what analysers and a look at the lines say about the changed lines, as a review."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from burnish.core.change import Change
from burnish.core.check import Comparison
from burnish.core.finding import Category, Remark, Severity
from burnish.core.review import Review, Verdict
from burnish.review.static.files import LONGEST_QUOTE, SOURCE, FileScan
from burnish.review.static.lines import line_remarks
from burnish.review.static.secrets import Secret, hide, secret_remark, secrets
from burnish.review.static.syntax import syntax_remarks

SYNTAX = "syntax-error"
MISSING_NAME = "F821"
# A statement that was changed in the middle: so many lines belong together, not more.
SPAN = 15
# Several rules that say the same of one line; the first one speaks.
_SAME = (("S110", "E722"), ("S112", "E722"), ("secret", "S105"), ("secret", "S106"), ("secret", "S107"))

Files = Mapping[str, FileScan]


def conclude(
    change: Change,
    files: Files,
    scanned: Sequence[Remark],
    *,
    caused: Sequence[Remark] = (),
    unrun: Sequence[Remark] = (),
    comparisons: Sequence[Comparison] = (),
    notes: Iterable[str] = (),
) -> Review:
    """`scanned` is filtered by line; `caused` are breakages elsewhere in a changed file that the base did not have."""
    cannot_read = {remark.file for remark in (*scanned, *caused) if remark.rule == SYNTAX}
    scanned, caused = [_alone(remark) for remark in scanned], [_alone(remark) for remark in caused]
    hidden = {path: tuple(secrets(file)) for path, file in files.items()}
    found = [
        *(remark for file in files.values() for remark in _own(file, hidden[file.path], cannot_read)),
        *_once(remark for raw in _trusted(scanned) for remark in _placed(files, raw)),
        *(remark for raw in caused for remark in _traced(files, raw)),
        *unrun,
        *(remark for one in comparisons for remark in _from_check(files, one)),
    ]
    remarks = tuple(_redacted(files, hidden, _distinct(found)))
    errors = sum(remark.severity is Severity.ERROR for remark in remarks)
    return Review(
        verdict=Verdict.CHANGES_REQUESTED if errors else Verdict.APPROVED,
        summary=_summary(change, remarks),
        inspected=_inspected(change, files),
        remarks=remarks,
        notes=tuple(dict.fromkeys(notes)),
    )


def _inspected(change: Change, files: Files) -> tuple[str, ...]:
    """Every path but those with content that is not read as text."""
    return tuple(path for path in change.paths if path not in files or files[path].is_inspected)


def _alone(remark: Remark) -> Remark:
    """Of a file that cannot be read nothing else is known, and silence would look like praise."""
    if remark.rule != SYNTAX:
        return remark
    words = "Until this is fixed, the rest of the file is not analysed."
    return replace(remark, description=f"{remark.description} {words}".strip())


def _trusted(scanned: Sequence[Remark]) -> Iterator[Remark]:
    """Of a file that could not be read, nothing but that: what else is said of it was guessed."""
    cannot_read = {remark.file for remark in scanned if remark.rule == SYNTAX}
    return (remark for remark in scanned if remark.rule == SYNTAX or remark.file not in cannot_read)


def _once(remarks: Iterable[Remark]) -> Iterator[Remark]:
    """A name that is missing is missing once, however often it is used."""
    used: dict[tuple[str | None, str], list[Remark]] = {}
    for remark in remarks:
        if remark.rule == MISSING_NAME:
            used.setdefault((remark.file, remark.title), []).append(remark)
        else:
            yield remark
    for same in used.values():
        first, *others = sorted(same, key=lambda remark: remark.line or 0)
        lines = sorted({remark.line or 0 for remark in others} - {first.line})
        more = f" Also at line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines[:10]))}." if lines else ""
        worst = min((remark.severity for remark in same), key=lambda severity: severity.rank)
        yield replace(first, severity=worst, description=first.description + more)


def elsewhere(files: Files, scanned: Sequence[Remark]) -> tuple[Remark, ...]:
    """Errors in changed files, but not on changed lines: was it this change that caused them?"""
    return tuple(
        remark
        for remark in _trusted(scanned)
        if remark.severity is Severity.ERROR and remark.file in files and not any(_placed(files, remark))
    )


def _own(file: FileScan, hidden: Sequence[Secret], cannot_read: set[str | None]) -> Iterator[Remark]:
    reads = file.path.endswith((".py", ".pyi")) and file.path not in cannot_read
    yield from line_remarks(file, reads=reads)
    yield from syntax_remarks(file)
    for secret in hidden:
        yield secret_remark(file, secret)


def _placed(files: Files, remark: Remark) -> Iterator[Remark]:
    """The remark if it stands on a changed line, cut to the changed lines."""
    file = files.get(remark.file or "")
    if file is None or remark.line is None:
        return
    last = min(max(remark.end_line or remark.line, remark.line), remark.line + SPAN)
    first = next((n for n in range(remark.line, last + 1) if n in file.changed), None)
    if first is None:
        return
    end = first
    while end < last and end + 1 in file.changed:
        end += 1
    quote = file.line(first).strip()[:LONGEST_QUOTE]
    yield replace(remark, line=first, end_line=end, quote=quote, source=SOURCE)


def _traced(files: Files, remark: Remark) -> Iterator[Remark]:
    """Said of the nearest changed line for a syntax error; else of the file, for the cause may be a deleted line."""
    file = files.get(remark.file or "")
    if file is None:
        return
    near = file.nearest(remark.line or 1) if remark.rule == SYNTAX else None
    words = f"{remark.description} It shows at line {remark.line}, which was fine before this change."
    quote = file.line(near).strip()[:LONGEST_QUOTE] if near else ""
    yield replace(remark, line=near, end_line=near, quote=quote, description=words.strip(), source=SOURCE)


def _from_check(files: Files, one: Comparison) -> Iterator[Remark]:
    """What a check says is new. On its own, without a ledger that would hear of it from the check itself."""
    name = one.report.name
    for failure in one.new:
        known = files.get(failure.file or "")
        line = failure.line if known and failure.line in known.changed else None
        yield Remark(
            Category.TEST,
            Severity.ERROR,
            f"{failure.name} fails",
            failure.message or "It passed, or was not there, at the base.",
            file=failure.file if known else None,
            line=line,
            end_line=line,
            rule="test-failure" if name == "test" else f"{name}-failure",
            source=SOURCE,
        )
    for remark in one.new_remarks:
        yield from _placed(files, remark)
    if one.broken:
        words = one.report.error or one.report.tail[-1000:] or f"It ended with exit code {one.report.exit_code}."
        yield Remark(
            Category.TEST, Severity.ERROR, f"The check {name} fails", words, rule=f"{name}-failure", source=SOURCE
        )


def _distinct(remarks: Sequence[Remark]) -> list[Remark]:
    """Worst first, one for each thing said about a place."""
    ordered = sorted(remarks, key=lambda r: (r.severity.rank, r.file or "", r.line or 0, r.rule, r.title))
    rules_at: dict[tuple[str | None, int | None], set[str]] = {}
    for remark in ordered:
        rules_at.setdefault((remark.file, remark.line), set()).add(remark.rule)
    conflicted = {remark.file for remark in ordered if remark.rule == "conflict-marker"}
    kept: list[Remark] = []
    known: set[tuple[str | None, object, str]] = set()
    for remark in ordered:
        # The first syntax error makes the others; a conflict makes all of them.
        place: object = "file" if remark.rule == SYNTAX else (remark.line, remark.title if remark.line is None else "")
        key = (remark.file, place, remark.rule)
        here = rules_at[remark.file, remark.line]
        echo = any(remark.rule == second and first in here for first, second in _SAME)
        if key in known or echo or (remark.rule == SYNTAX and remark.file in conflicted):
            continue
        known.add(key)
        kept.append(remark)
    return kept


def _redacted(files: Files, hidden: Mapping[str, Sequence[Secret]], remarks: list[Remark]) -> Iterator[Remark]:
    """No field of any remark repeats a secret."""
    values = sorted({secret.value for some in hidden.values() for secret in some}, key=len, reverse=True)
    for remark in remarks:
        yield replace(
            remark,
            title=hide(remark.title, values),
            description=hide(remark.description, values),
            suggestion=hide(remark.suggestion, values),
            quote=hide(remark.quote, values),
        )


def _summary(change: Change, remarks: Sequence[Remark]) -> str:
    files = f"{len(change.files)} changed file{'s' if len(change.files) != 1 else ''}"
    if not remarks:
        return f"Nothing found in {files}. Whether it does what was asked, only a person or an AI reviewer can tell."
    counts = [(sum(r.severity is severity for r in remarks), severity.value) for severity in Severity]
    words = ", ".join(f"{n} {name}{'s' if n != 1 and name != 'info' else ''}" for n, name in counts if n)
    return f"{words} in {files}; first: {remarks[0].title}"
