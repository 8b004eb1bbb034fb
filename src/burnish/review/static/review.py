"""Combines the results of analysers and line checks on changed lines into a review."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from burnish.core.change import Change
from burnish.core.check import Comparison
from burnish.core.finding import Category, Remark, Severity
from burnish.core.review import Review, Verdict
from burnish.review.static.files import MAX_QUOTE_LENGTH, SOURCE, FileScan
from burnish.review.static.lines import line_remarks
from burnish.review.static.secrets import Secret, redact_values, secret_remark, secrets
from burnish.review.static.syntax import syntax_remarks

SYNTAX = "syntax-error"
MISSING_NAME = "F821"
# most lines of a statement that count as one place
SPAN = 15
# findings of one rule on one file; thousands take minutes to compare and show
MAX_PER_RULE = 50
# pairs of rules that report the same problem; only the first is kept
_SAME = (("S110", "E722"), ("S112", "E722"), ("secret", "S105"), ("secret", "S106"), ("secret", "S107"))

Files = Mapping[str, FileScan]


def conclude(
    change: Change,
    files: Files,
    scan_remarks: Sequence[Remark],
    *,
    caused_remarks: Sequence[Remark] = (),
    unrun: Sequence[Remark] = (),
    comparisons: Sequence[Comparison] = (),
    notes: Iterable[str] = (),
    unexamined: Mapping[str, str] | None = None,
) -> Review:
    """The review. `scan_remarks` are filtered by line; `caused_remarks` are new errors on unchanged lines.

    `unexamined`: files that an analyser gave up, with the reason. They do not count as inspected.
    """
    gave_up = unexamined or {}
    cannot_read = {remark.file for remark in (*scan_remarks, *caused_remarks) if remark.rule == SYNTAX}
    scan_remarks, caused_remarks = (
        [_with_syntax_note(remark) for remark in scan_remarks],
        [_with_syntax_note(remark) for remark in caused_remarks],
    )
    secrets_by_path = {path: tuple(secrets(file)) for path, file in files.items()}
    found = [
        *(remark for file in files.values() for remark in _file_remarks(file, secrets_by_path[file.path], cannot_read)),
        *_merge_missing_names(
            remark for raw in _reliable_remarks(scan_remarks) for remark in _on_changed_lines(files, raw)
        ),
        *(remark for raw in caused_remarks for remark in _at_nearest_line(files, raw)),
        *unrun,
        *(_unexamined_remark(files[path], why) for path, why in gave_up.items() if path in files),
        *(remark for one in comparisons for remark in _from_check(files, one)),
    ]
    remarks = tuple(_redact_secrets(files, secrets_by_path, _limited(_distinct(found))))
    errors = sum(remark.severity is Severity.ERROR for remark in remarks)
    return Review(
        verdict=Verdict.CHANGES_REQUESTED if errors else Verdict.APPROVED,
        summary=_summary(change, remarks),
        inspected=tuple(path for path in _inspected(change, files) if path not in gave_up),
        remarks=remarks,
        notes=tuple(dict.fromkeys(notes)),
    )


def _inspected(change: Change, files: Files) -> tuple[str, ...]:
    """All paths except those whose content was not scanned as text."""
    return tuple(path for path in change.paths if path not in files or files[path].is_inspected)


def _unexamined_remark(file: FileScan, why: str) -> Remark:
    return file.remark(
        "not-examined",
        Severity.WARNING,
        f"{file.path.rsplit('/', 1)[-1]} could not be examined",
        f"{why[:1].upper()}{why[1:]}. Problems in this file are not reported.",
        suggestion="Read the file yourself. Code that is nested thousands of levels deep is not written by people.",
    )


def _limited(remarks: Sequence[Remark]) -> list[Remark]:
    """At most MAX_PER_RULE remarks of one rule on one file; the last one counts the others."""
    count: dict[tuple[str | None, str], int] = {}
    for remark in remarks:
        count[remark.file, remark.rule] = count.get((remark.file, remark.rule), 0) + 1
    first_remarks: list[Remark] = []
    places: dict[tuple[str | None, str], int] = {}
    for remark in remarks:
        key = remark.file, remark.rule
        places[key] = places.get(key, 0) + 1
        more = count[key] - MAX_PER_RULE
        if places[key] == MAX_PER_RULE and more > 0:
            words = f"This file has {more:,} more findings of this rule."
            first_remarks.append(replace(remark, description=f"{remark.description} {words}".strip()))
        elif places[key] <= MAX_PER_RULE:
            first_remarks.append(remark)
    return first_remarks


def _with_syntax_note(remark: Remark) -> Remark:
    """Add to a syntax error that the rest of the file is not analysed."""
    if remark.rule != SYNTAX:
        return remark
    words = "Until this is fixed, the rest of the file is not analysed."
    return replace(remark, description=f"{remark.description} {words}".strip())


def _reliable_remarks(scan_remarks: Sequence[Remark]) -> Iterator[Remark]:
    """For a file with a syntax error only that error, because other remarks on it are unreliable."""
    cannot_read = {remark.file for remark in scan_remarks if remark.rule == SYNTAX}
    return (remark for remark in scan_remarks if remark.rule == SYNTAX or remark.file not in cannot_read)


def _merge_missing_names(remarks: Iterable[Remark]) -> Iterator[Remark]:
    """Merge remarks on the same undefined name into one."""
    uses: dict[tuple[str | None, str], list[Remark]] = {}
    for remark in remarks:
        if remark.rule == MISSING_NAME:
            uses.setdefault((remark.file, remark.title), []).append(remark)
        else:
            yield remark
    for same in uses.values():
        first, *others = sorted(same, key=lambda remark: remark.line or 0)
        lines = sorted({remark.line or 0 for remark in others} - {first.line})
        more = f" Also at line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines[:10]))}." if lines else ""
        worst = min((remark.severity for remark in same), key=lambda severity: severity.rank)
        yield replace(first, severity=worst, description=first.description + more)


def elsewhere(files: Files, scan_remarks: Sequence[Remark]) -> tuple[Remark, ...]:
    """Errors in changed files on unchanged lines, which this change may have caused."""
    return tuple(
        remark
        for remark in _reliable_remarks(scan_remarks)
        if remark.severity is Severity.ERROR and remark.file in files and not any(_on_changed_lines(files, remark))
    )


def _file_remarks(file: FileScan, file_secrets: Sequence[Secret], cannot_read: set[str | None]) -> Iterator[Remark]:
    reads = file.path.endswith((".py", ".pyi")) and file.path not in cannot_read
    yield from line_remarks(file, reads=reads)
    yield from syntax_remarks(file)
    for secret in file_secrets:
        yield secret_remark(file, secret)


def _on_changed_lines(files: Files, remark: Remark) -> Iterator[Remark]:
    """The remark if it is on a changed line, limited to the changed lines."""
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
    quote = file.line(first).strip()[:MAX_QUOTE_LENGTH]
    yield replace(remark, line=first, end_line=end, quote=quote, source=SOURCE)


def _at_nearest_line(files: Files, remark: Remark) -> Iterator[Remark]:
    """Move a syntax error to the nearest changed line, others to the file: a deleted line may be the cause."""
    file = files.get(remark.file or "")
    if file is None:
        return
    near = file.nearest(remark.line or 1) if remark.rule == SYNTAX else None
    words = f"{remark.description} It appears at line {remark.line}, which had no error before this change."
    quote = file.line(near).strip()[:MAX_QUOTE_LENGTH] if near else ""
    yield replace(remark, line=near, end_line=near, quote=quote, description=words.strip(), source=SOURCE)


def _from_check(files: Files, one: Comparison) -> Iterator[Remark]:
    """New failures of a check, for reviews without a ledger."""
    name = one.report.name
    for failure in one.new:
        changed_file = files.get(failure.file or "")
        line = failure.line if changed_file and failure.line in changed_file.changed else None
        yield Remark(
            Category.TEST,
            Severity.ERROR,
            f"{failure.name} fails",
            failure.message or "It passed, or did not exist, at the base.",
            file=failure.file if changed_file else None,
            line=line,
            end_line=line,
            rule="test-failure" if name == "test" else f"{name}-failure",
            source=SOURCE,
        )
    for remark in one.new_remarks:
        yield from _on_changed_lines(files, remark)
    if one.broken:
        words = one.report.error or one.report.tail[-1000:] or f"It ended with exit code {one.report.exit_code}."
        yield Remark(
            Category.TEST, Severity.ERROR, f"The check {name} fails", words, rule=f"{name}-failure", source=SOURCE
        )


def _distinct(remarks: Sequence[Remark]) -> list[Remark]:
    """Worst first, without duplicates."""
    by_severity = sorted(remarks, key=lambda r: (r.severity.rank, r.file or "", r.line or 0, r.rule, r.title))
    rules_at: dict[tuple[str | None, int | None], set[str]] = {}
    for remark in by_severity:
        rules_at.setdefault((remark.file, remark.line), set()).add(remark.rule)
    files_with_conflict = {remark.file for remark in by_severity if remark.rule == "conflict-marker"}
    unique: list[Remark] = []
    seen_keys: set[tuple[str | None, object, str]] = set()
    for remark in by_severity:
        # the first syntax error causes the others, and a conflict causes all of them
        place: object = "file" if remark.rule == SYNTAX else (remark.line, remark.title if remark.line is None else "")
        key = (remark.file, place, remark.rule)
        here = rules_at[remark.file, remark.line]
        echo = any(remark.rule == second and first in here for first, second in _SAME)
        if key in seen_keys or echo or (remark.rule == SYNTAX and remark.file in files_with_conflict):
            continue
        seen_keys.add(key)
        unique.append(remark)
    return unique


def _redact_secrets(
    files: Files, secrets_by_path: Mapping[str, Sequence[Secret]], remarks: list[Remark]
) -> Iterator[Remark]:
    """Redact secrets in all fields of the remarks."""
    values = sorted({secret.value for some in secrets_by_path.values() for secret in some}, key=len, reverse=True)
    for remark in remarks:
        yield replace(
            remark,
            title=redact_values(remark.title, values),
            description=redact_values(remark.description, values),
            suggestion=redact_values(remark.suggestion, values),
            quote=redact_values(remark.quote, values),
        )


def _summary(change: Change, remarks: Sequence[Remark]) -> str:
    files = f"{len(change.files)} changed file{'s' if len(change.files) != 1 else ''}"
    if not remarks:
        return f"No findings in {files}. Whether it does the task, only a person or an AI reviewer can tell."
    counts = [(sum(r.severity is severity for r in remarks), severity.value) for severity in Severity]
    words = ", ".join(f"{n} {name}{'s' if n != 1 and name != 'info' else ''}" for n, name in counts if n)
    return f"{words} in {files}; first: {remarks[0].title}"
