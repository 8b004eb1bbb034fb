"""burnish findings, apply, waive, resolve, reopen"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

from burnish.cli.output import (
    BY_SEVERITY,
    clean,
    coloured,
    columns,
    count,
    cut,
    one_line,
    pad,
    paint,
    say,
    say_json,
    tell,
    width,
)
from burnish.cli.parameters import Argument, Option
from burnish.cli.session import AsJson, TaskId, open_app, open_reader
from burnish.core.task import task_id
from burnish.errors import BadInput

if TYPE_CHECKING:
    from burnish.core.finding import Finding
    from burnish.core.task import Task

FindingId = Annotated[str, Argument(metavar="FINDING", help="The finding, e.g. F2.", show_default=False)]
HEADS = ("id", "state", "severity", "category", "place", "title", "reviewers", "cycles")


def findings(
    task: TaskId,
    alive: Annotated[bool, Option("--open", help="Show only open findings.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the findings of a task with their state."""
    from burnish.views.task import failure_output, finding_json

    number, reader = task_id(task), open_reader()
    if reader.project is None:
        raise reader.unknown_project(f"There is no task {number}.")
    record = reader.store.task(reader.key, number)
    found = reader.store.findings(reader.key, number)
    rows = [finding_json(one) for one in found if one.alive or not alive]
    if as_json:
        cause = {"error": record.error.value, "note": record.note} if record.error else {}
        say_json({"id": str(number), "findings": rows, **cause})
    elif rows:
        for line in table(rows, room=columns(sys.stdout), colour=coloured(sys.stdout)):
            say(line)
    else:
        say(f"Task {number} has no open findings." if found else f"Task {number} has no findings.")
    if record.error and not as_json:
        output = failure_output(record, reader.store.events(reader.key, task=number))
        tell(f"Task {number} {record.status} ({record.error}): {clean(record.note)}")
        for line in output.splitlines():
            tell(f"  │ {clean(line)}")


def table(found: Sequence[Mapping[str, Any]], *, room: int, colour: bool) -> Iterator[str]:
    """One line per finding, with its waiver, dispute or note below."""
    rows = [_row(one) for one in found]
    heads: tuple[str, ...] = HEADS
    if room < 100:
        # `show` lists the reviewers; the title must stay readable
        heads, rows = HEADS[:6], [row[:6] for row in rows]
    sizes = [max(width(text) for text in (heads[i], *(row[i] for row in rows))) for i in range(len(heads))]
    others = sum(sizes) - sizes[5] + 2 * (len(heads) - 1)
    # the place is cut before the title is lost
    sizes[4] = max(10, min(sizes[4], sizes[4] - max(0, 24 - (room - others))))
    others = sum(sizes) - sizes[5] + 2 * (len(heads) - 1)
    sizes[5] = max(12, min(sizes[5], room - others))
    yield paint("  ".join(pad(head, size) for head, size in zip(heads, sizes, strict=True)).rstrip(), "dim", on=colour)
    for row, one in zip(rows, found, strict=True):
        cells = [pad(cut(text, size), size) for text, size in zip(row, sizes, strict=True)]
        cells[2] = paint(cells[2], BY_SEVERITY.get(one["severity"], "dim"), on=colour)
        yield "  ".join(cells).rstrip()
        for line in said_of(one):
            yield cut(f"    {line}", room)


def _row(one: Mapping[str, Any]) -> tuple[str, ...]:
    first, last = one["first_cycle"], one["last_cycle"]
    return (
        one["id"],
        one["state"],
        one["severity"],
        one["category"],
        place(one),
        one_line(one["title"]),
        one_line(", ".join(one["reviewers"]) or "-"),
        str(first) if first == last else f"{first}-{last}",
    )


def place(one: Mapping[str, Any]) -> str:
    if not one.get("file"):
        return "-"
    return one_line(one["file"]) + (f":{one['line']}" if one.get("line") else "")


def said_of(one: Mapping[str, Any]) -> Iterator[str]:
    """The waiver, dispute and note of a finding, one line each."""
    waiver = one.get("waiver")
    if waiver:
        until = f" (until {waiver['until']})" if waiver.get("until") else ""
        yield f"waived by {one_line(waiver['by'])}: {one_line(waiver['reason'])}{until}"
    if one.get("evidence"):
        times = f" ({one['disputes']} times)" if (one.get("disputes") or 0) > 1 else ""
        yield f"disputed by the author{times}: {one_line(one['evidence'])}"
    note = one_line(one.get("note") or "")
    if note and not waiver:
        yield note if note.startswith(one["state"]) else f"{one['state']}: {note}"
    for reply in one.get("replies") or ():
        yield f"{one_line(reply['by'])}: {one_line(reply['text'])}"


def waive(
    task: TaskId,
    finding: FindingId,
    reason: Annotated[str, Option("--reason", metavar="TEXT", help="Record why the finding is acceptable.")] = "",
    until: Annotated[
        str | None, Option("--until", metavar="DATE", help="End the waiver on DATE, e.g. 2027-01-31.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Accept one finding as it is, with a recorded reason.

    If no other finding blocks the task, `burnish run TASK` decides it again. `burnish reopen` ends a waiver.
    Use `burnish override` to approve the whole task against its review.
    """
    from burnish import runtime
    from burnish.features.tasks.edit import waive_finding

    runtime.refuse_inside_phase()
    day = _day(until) if until is not None else None
    if not reason.strip():
        raise BadInput("A waiver needs a reason.", hint='Say why the finding is acceptable: --reason "…"')
    app, number = open_app(), task_id(task)
    finding_after = waive_finding(app, number, finding, reason=reason, until=day)
    _report(finding_after, app.store.task(app.key, number), "Waived", as_json)


def reopen(
    task: TaskId,
    finding: FindingId,
    reason: Annotated[str, Option("--reason", metavar="TEXT", help="Record why the finding is open again.")] = "",
    as_json: AsJson = False,
) -> None:
    """Reopen a finding that was resolved or waived.

    An approval that relied on it becomes void. Then `burnish run TASK` calls the author to fix it.
    """
    from burnish import runtime
    from burnish.features.tasks.edit import reopen_finding

    runtime.refuse_inside_phase()
    app, number = open_app(), task_id(task)
    finding_after = reopen_finding(app, number, finding, reason=reason)
    _report(finding_after, app.store.task(app.key, number), "Reopened", as_json)


def resolve(
    task: TaskId,
    finding: FindingId,
    reason: Annotated[str, Option("--reason", metavar="TEXT", help="Record why nothing is left to do.")] = "",
    as_json: AsJson = False,
) -> None:
    """Close a comment of a person that needs nothing more.

    A finding of a reviewer or a check is resolved by the next review or check. Use `burnish waive` to accept it.
    """
    from burnish import runtime
    from burnish.features.tasks.edit import resolve_finding

    runtime.refuse_inside_phase()
    app, number = open_app(), task_id(task)
    finding_after = resolve_finding(app, number, finding, reason=reason)
    _report(finding_after, app.store.task(app.key, number), "Resolved", as_json)


def apply(
    task: TaskId,
    findings: Annotated[
        list[str], Argument(metavar="FINDING...", help="The findings, e.g. F2 F3.", show_default=False)
    ],
    as_json: AsJson = False,
) -> None:
    """Commit the lines that findings suggest.

    All of them are one commit on the task's branch.
    A suggestion is a block of ```suggestion in a comment on lines, or in the suggestion of a reviewer. An approval is
    void: checks and a review follow. The findings stay open until the review, or you, resolve them.

    Refused if the lines have changed since, and while the task is being run.
    """
    from burnish import runtime
    from burnish.features.review.apply_suggestions import apply_suggestions
    from burnish.views.status import stands, task_json
    from burnish.views.task import finding_json

    runtime.refuse_inside_phase()
    app, number = open_app(), task_id(task)
    result = apply_suggestions(app, number, findings)
    if as_json:
        rows = [finding_json(one) for one in result.findings]
        say_json({"task": task_json(result.task), "commit": result.commit, "findings": rows})
        return
    say(f"Applied {', '.join(one.id for one in result.findings)} to task {number}: commit {result.commit[:12]}")
    tell(f"  Task {number} {stands(result.task.status)}. Have it checked and reviewed: burnish run {number}")


def _day(text: str) -> date:
    from burnish.runtime.tasks import refuse_past

    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        raise BadInput(f"{text!r} is not a date.", hint="Write it like 2027-01-31.") from None
    refuse_past(day)
    return day


def _report(finding: Finding, task: Task, what: str, as_json: bool) -> None:
    if as_json:
        from burnish.views.task import ruled_json

        say_json(ruled_json(finding, task))
        return
    from burnish.views.status import stands

    say(f"{what} {finding.id} of task {task.id}: {one_line(finding.remark.title)}")
    open_count = f", {count(task.open_findings, 'finding')} open" if task.open_findings else ""
    tell(f"  Task {task.id} {stands(task.status)}{open_count}." + (f" {one_line(task.note)}" if task.note else ""))
