"""`burnish export`: a task or a night in a format of another tool."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from burnish import __version__
from burnish.adapters.redaction import clean_finding, secrets_from_environment
from burnish.checks.evidence import MAX_FILE_BYTES, find_evidence
from burnish.core.cost import UNKNOWN_COST, cost_with_source
from burnish.core.finding import Finding, listed
from burnish.core.images import TYPES as IMAGE_TYPES
from burnish.core.status import Status
from burnish.errors import BadInput
from burnish.exchange import junit, rdjson, report, sarif, workflow_commands
from burnish.regular_files import read_regular
from burnish.store import Store
from burnish.views.inbox import inbox
from burnish.views.status import UNDER_WAY, Alive, status_line
from burnish.views.task import show_json

# format → type for HTTP, and the ending of a file name that stands for it
FORMATS = {
    "markdown": ("text/markdown", ".md"),
    "html": ("text/html", ".html"),
    "json": ("application/json", ".json"),
    "sarif": ("application/sarif+json", ".sarif"),
    "rdjson": ("application/json", ".rdjson"),
    "junit": ("application/xml", ".xml"),
    "github": ("text/plain", ".txt"),
}
NIGHT_FORMATS = ("markdown", "html", "json")
# what is shown of a task in the report of a night
_MAX_SUMMARY_LENGTH = 600
# of all screenshots in one HTML file: mail programs refuse more
_MAX_IMAGE_BYTES = 15_000_000


@dataclass(frozen=True, slots=True)
class ProjectRecords:
    """Where the exported data comes from."""

    store: Store
    key: str
    name: str
    alive: Alive = None
    # the burnish home, for the files that checks left
    home: Path | None = None


def chosen_format(name: str | None, file: Path | None, *, night: bool = False) -> str:
    """The named format, else that of the file name's ending, else Markdown."""
    formats = NIGHT_FORMATS if night else tuple(FORMATS)
    if name is None:
        if file is None or not file.suffix:
            return "markdown"
        endings = {ending: one for one, (_, ending) in FORMATS.items() if one in formats}
        # `.sarif.json` is the other usual ending of SARIF
        ending = ".sarif" if file.name.lower().endswith(".sarif.json") else file.suffix.lower()
        if ending not in endings:
            what = f"The ending {ending!r} of {file.name} stands for no format of {'a night' if night else 'a task'}."
            raise BadInput(what, hint=f"Use {listed(tuple(endings))}, or --format with one of: {', '.join(formats)}.")
        return endings[ending]
    if name not in formats:
        hint = f"Choose from: {', '.join(formats)}."
        raise BadInput(f"{name!r} is not a format of {'a night' if night else 'a task'}.", hint=hint)
    return name


def export_task(records: ProjectRecords, task_id: int, format: str) -> str:
    """The task as text in this format, with secrets redacted."""
    secrets = secrets_from_environment()
    findings = tuple(clean_finding(secrets, one) for one in records.store.findings(records.key, task_id))
    facts: dict[str, Any] = secrets.clean(show_json(records.store, records.key, task_id, records.alive))
    images = _images(records, task_id, facts) if format == "html" else {}
    task_report = report.TaskReport(facts, findings, images)
    writers: dict[str, Callable[[], str]] = {
        "markdown": lambda: report.task_markdown(task_report),
        "html": lambda: report.task_html(task_report),
        "json": lambda: _json(task_report.facts),
        "junit": lambda: junit.write_junit(task_report.checks, name=f"burnish task {task_id}"),
    }
    write = writers.get(format)
    return write() if write else findings_text(findings, format, identity=task_report.identity)


def _images(records: ProjectRecords, task_id: int, facts: dict[str, Any]) -> dict[str, str]:
    """Screenshots of the last checks as data URLs, by name; what is too much for one file is only named."""
    if records.home is None:
        return {}
    folder = records.home / "projects" / records.key / "tasks" / records.store.task(records.key, task_id).name
    found: dict[str, str] = {}
    room = _MAX_IMAGE_BYTES
    for file in (one for check in report.last_checks(facts["cycles"]) for one in check.get("evidence") or ()):
        path = find_evidence(folder, file["name"])
        if path is None or file["kind"] not in IMAGE_TYPES or file["bytes"] > room:
            continue
        room -= file["bytes"]
        data = base64.b64encode(read_regular(path, longest=MAX_FILE_BYTES, follow=False) or b"").decode()
        found[file["name"]] = f"data:{IMAGE_TYPES[file['kind']]};base64,{data}"
    return found


def findings_text(findings: tuple[Finding, ...], format: str, *, identity: str = "") -> str:
    """Findings alone, for the formats that hold nothing else."""
    if format == "sarif":
        return _json(sarif.write_sarif(findings, version=__version__, identity=identity))
    if format == "rdjson":
        return _json(rdjson.write_rdjson(findings))
    return "".join(f"{line}\n" for line in workflow_commands.write_annotations(findings))


def export_night(records: ProjectRecords, since: datetime, format: str, *, now: datetime) -> str:
    """What changed since then, what waits and what it cost, with secrets redacted."""
    night = _night(records, since, now)
    if format == "json":
        return _json(night.as_json())
    return report.night_html(night) if format == "html" else report.night_markdown(night)


def _night(records: ProjectRecords, since: datetime, now: datetime) -> report.NightReport:
    secrets, begin = secrets_from_environment(), since.astimezone(UTC).isoformat()
    rows = [_row(records, task, now) for task in records.store.tasks(records.key) if task.updated_at >= begin]
    clean_rows = tuple(report.NightRow(**secrets.clean(row)) for row in rows)
    entries = inbox(
        records.store, [records.key], today=now.date().isoformat(), alive=records.alive or (lambda runner: True)
    )
    count = {name: sum(row.outcome == name for row in clean_rows) for name in ("done", "waits", "stopped", "running")}
    return report.NightReport(
        project=records.name,
        since=_minute(since),
        until=_minute(now),
        headline=f"{count['done']} done, {count['waits']} waiting for a person, "
        f"{count['stopped']} failed or cancelled, {count['running']} not finished.",
        rows=clean_rows,
        waits=tuple(secrets.clean(entry.as_json()) for entry in entries),
        figures=_figures(records, begin),
    )


def _row(records: ProjectRecords, task: Any, now: datetime) -> dict[str, str]:
    line = status_line(task, now, alive=records.alive)
    cycles = show_json(records.store, records.key, task.id)["cycles"]
    summary = next((cycle["summary"] for cycle in reversed(cycles) if cycle["summary"]), "")
    findings = records.store.findings(records.key, task.id)
    settled_count = sum(not finding.alive for finding in findings)
    return {
        "id": line.id,
        "title": task.spec.title,
        "status": line.status,
        "outcome": _outcome(task.status),
        "words": line.words,
        "summary": summary[:_MAX_SUMMARY_LENGTH],
        "findings": f"{settled_count} of {len(findings)} findings settled" if findings else "",
    }


def _outcome(status: Status) -> str:
    if status in (Status.VERIFIED, Status.COMPLETED):
        return "done"
    if status in (Status.BLOCKED, Status.WAITING_APPROVAL):
        return "waits"
    return "running" if status in UNDER_WAY or status is Status.BACKLOG else "stopped"


def _figures(records: ProjectRecords, begin: str) -> dict[str, str]:
    """Cost and work of the phases that began in the period."""
    from burnish.views.cost import paid, total

    usage = total(one for _, one in paid(records.store.tally([records.key], since=begin), begin))
    cost = cost_with_source(usage.cost_usd, usage.cost_source)
    hours, minutes = divmod(int(usage.seconds) // 60, 60)
    values = {
        "cost": "unknown" if cost == UNKNOWN_COST else cost or "nothing",
        "tokens": f"{usage.tokens:,}" if usage.tokens else "",
        "calls and checks": f"{usage.calls:,}",
        "working time": f"{hours}h{minutes:02}m" if hours else f"{minutes}m{int(usage.seconds) % 60:02}s",
    }
    return {name: value for name, value in values.items() if value}


def _minute(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")


def _json(value: Any) -> str:
    # ASCII, so that no control or bidi character reaches a terminal; half of a surrogate pair is not valid JSON
    text = json.dumps(value, indent=2)
    if "\\ud" in text:
        text = json.dumps(_without_surrogates(value), indent=2)
    return text + "\n"


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(one) for one in value]
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
