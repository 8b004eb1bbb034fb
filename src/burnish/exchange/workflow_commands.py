"""Writes open findings as workflow commands of GitHub Actions, which show them beside the code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from burnish.core.finding import Finding, Severity, worst_first
from burnish.exchange.sarif import message
from burnish.sanitize import clean_text

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def write_annotations(findings: Sequence[Finding]) -> Iterator[str]:
    """One line for each finding, the worst first: GitHub shows only the first ten of a step."""
    for finding in worst_first(tuple(finding for finding in findings if finding.alive)):
        remark = finding.remark
        options = {"title": f"{finding.id} {' '.join(remark.title.split())}"}
        if remark.file:
            options["file"] = remark.file
            if remark.line:
                options["line"] = str(remark.line)
                if remark.end_line and remark.end_line > remark.line:
                    options["endLine"] = str(remark.end_line)
        words = message(remark) + (f"\n\nSuggestion: {remark.suggestion}" if remark.suggestion else "")
        option_text = ",".join(f"{name}={_option(value)}" for name, value in options.items())
        yield f"::{COMMANDS[remark.severity]} {option_text}::{_text(words)}"


def _text(text: str) -> str:
    # the log of a run is a terminal for its readers; a newline stays, escaped
    return clean_text(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _option(text: str) -> str:
    return _text(text).replace(":", "%3A").replace(",", "%2C")
