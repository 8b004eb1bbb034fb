"""A task or a night as a report for people: Markdown, or one HTML file without outside resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from burnish.core.check import check_words
from burnish.core.cost import UNKNOWN_COST, cost_with_source
from burnish.core.finding import Finding, worst_first
from burnish.exchange.markdown_text import escaped
from burnish.sanitize import terminal_text


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What every format of one task is made of."""

    # as `show --json` prints it
    facts: Mapping[str, Any]
    findings: tuple[Finding, ...]
    # evidence of checks that is part of the report: name → data URL
    images: Mapping[str, str] = field(default_factory=dict)

    @property
    def checks(self) -> Sequence[Mapping[str, Any]]:
        return last_checks(self.facts["cycles"])

    @property
    def identity(self) -> str:
        return f"{self.facts['project']}/{self.facts['id']}.{self.facts['run']}"

    @property
    def cost(self) -> str:
        words = cost_with_source(self.facts["cost_usd"], self.facts["cost_source"])
        return "" if words == UNKNOWN_COST else words

    @property
    def sorted_findings(self) -> list[Finding]:
        """Open ones first, the worst of them on top."""
        return sorted(worst_first(self.findings), key=lambda finding: not finding.alive)


@dataclass(frozen=True, slots=True)
class NightRow:
    """A task that changed in the period."""

    id: str
    title: str
    status: str
    # done, waits, stopped or running
    outcome: str
    words: str
    summary: str
    findings: str


@dataclass(frozen=True, slots=True)
class NightReport:
    """What was done, what waits for a person, and what it cost."""

    project: str
    since: str
    until: str
    headline: str
    rows: tuple[NightRow, ...]
    # entries of the inbox, as JSON
    waits: tuple[Mapping[str, Any], ...]
    # label → figure
    figures: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        tasks = [{name: getattr(row, name) for name in NightRow.__slots__} for row in self.rows]
        return {
            "project": self.project,
            "since": self.since,
            "until": self.until,
            "headline": self.headline,
            "tasks": tasks,
            "waits": list(self.waits),
            "figures": dict(self.figures),
        }


def last_checks(cycles: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The checks of the last cycle that had any."""
    return next((cycle["checks"] for cycle in reversed(cycles) if cycle["checks"]), [])


def place(finding: Finding) -> str:
    """`src/a.py:3-5`, or an empty text."""
    remark = finding.remark
    if not remark.file:
        return ""
    line = f":{remark.line}" if remark.line else ""
    last = f"-{remark.end_line}" if line and remark.end_line and remark.end_line > (remark.line or 0) else ""
    return f"{remark.file}{line}{last}"


def state_words(finding: Finding) -> str:
    """The state, and why it has it."""
    reason = finding.waiver.reason if finding.waiver else finding.evidence or finding.note
    return f"{finding.state}: {' '.join(reason.split())}" if reason and finding.state != "open" else finding.state


# -- Markdown -------------------------------------------------------------------------------------


def task_markdown(report: TaskReport) -> str:
    return "\n".join(_task_lines(report)).rstrip() + "\n"


def _task_lines(report: TaskReport) -> Iterator[str]:
    facts = report.facts
    yield f"# Task {facts['id']}: {escaped(facts['title'])}\n"
    verdict = f", {facts['final_verdict']}" if facts["final_verdict"] else ""
    yield f"**{facts['status']}**{verdict}" + (f": {escaped(facts['note'])}" if facts["note"] else "") + "\n"
    if facts["description"]:
        yield f"{escaped(facts['description'])}\n"
    yield "| | |\n|---|---|"
    for name, value in task_figures(report):
        yield f"| {name} | {escaped(value)} |"
    yield "\n## Findings\n"
    if not report.findings:
        yield "None.\n"
    for finding in report.sorted_findings:
        yield from _finding_lines(finding)
    if report.checks:
        yield "\n## Checks\n"
        for check in report.checks:
            yield f"- {escaped(check.get('name'))}: {escaped(check_words(check))}"
            names = [
                escaped(file["path"] if file["name"] else f"{file['path']} (not stored)")
                for file in check.get("evidence") or ()
            ]
            if names:
                yield f"  Evidence: {', '.join(names)}"
    if facts["cycles"]:
        yield "\n## Cycles\n"
        for cycle in facts["cycles"]:
            summary = f": {escaped(cycle['summary'])}" if cycle["summary"] else ""
            yield f"{cycle['number']}. {escaped(cycle['verdict'] or 'no review')}{summary}"


def _finding_lines(finding: Finding) -> Iterator[str]:
    remark = finding.remark
    where = f" ({escaped(place(finding))})" if remark.file else ""
    yield f"- **{finding.id} {remark.severity}**, {escaped(state_words(finding))}: {escaped(remark.title)}{where}"
    for words in (remark.description, f"Suggestion: {remark.suggestion}" if remark.suggestion else ""):
        if words.strip() and words.strip() != remark.title:
            yield f"  {escaped(words)}"


def task_figures(report: TaskReport) -> Iterator[tuple[str, str]]:
    """Name and value of what is known about the task as a whole."""
    facts = report.facts
    values = {
        "branch": facts["branch"],
        "commit": (facts["commit"] or "")[:12],
        "agent": " ".join(filter(None, (facts["agent"], facts["model"]))),
        "cycles": f"{facts['cycle']} of {facts['max_cycles']}" if facts["cycle"] else "",
        "cost": report.cost,
        "tokens": f"{facts['tokens']:,}" if facts["tokens"] else "",
        "overrides by people": str(facts["overrides"] or ""),
        "changed": facts["updated_at"][:16].replace("T", " ") + " UTC",
    }
    return ((name, value) for name, value in values.items() if value)


def night_markdown(report: NightReport) -> str:
    lines = [f"# {escaped(report.project)}, {report.since} to {report.until}\n", f"{escaped(report.headline)}\n"]
    lines += ["| | |\n|---|---|", *(f"| {name} | {escaped(value)} |" for name, value in report.figures.items())]
    lines.append("\n## Waits for you\n")
    lines += [f"- Task {e['id']} {escaped(e['title'])}: {escaped(e['why'])}. `{e['command']}`" for e in report.waits]
    lines += [] if report.waits else ["Nothing."]
    lines.append("\n## Tasks\n")
    for row in report.rows:
        lines.append(f"- {row.id} **{row.status}** {escaped(row.title)} {escaped(row.words)}".rstrip())
        lines += [f"  {escaped(row.summary)}"] if row.summary else []
    lines += [] if report.rows else ["No task changed."]
    return "\n".join(lines).rstrip() + "\n"


# -- HTML -----------------------------------------------------------------------------------------


def task_html(report: TaskReport) -> str:
    title = f"Task {report.facts['id']}: {report.facts['title']}"
    return _html(title=title, task=report, night=None, figures=list(task_figures(report)))


def night_html(report: NightReport) -> str:
    title = f"{report.project}, {report.since} to {report.until}"
    return _html(title=title, task=None, night=report, figures=list(report.figures.items()))


def _html(**values: Any) -> str:
    # only this format needs it
    import jinja2

    # every value passes here: text of agents may hold characters that reverse or hide other text
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: terminal_text(value) if isinstance(value, str) else value,
    )
    environment.filters |= {"place": place, "state_words": state_words, "check_words": check_words}
    template = files("burnish.exchange").joinpath("report.html.j2").read_text("utf-8")
    return environment.from_string(template).render(**values) + "\n"
