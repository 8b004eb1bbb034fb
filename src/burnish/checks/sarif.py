"""Reads SARIF reports of checks."""

from __future__ import annotations

import json
from pathlib import Path

from burnish.checks.reading import Reading, path_in_repository, shortened
from burnish.core.finding import Remark
from burnish.core.sarif import ResultBuilder, failed, remarks_of, runs_of

MOST_RESULTS = 20_000


def read_sarif(data: bytes, *, source: str, root: Path | None = None, mounted_at: Path | None = None) -> Reading:
    """The results as remarks. Never raises."""
    try:
        log = json.loads(data)
    except (ValueError, RecursionError) as error:
        return Reading(error=f"the SARIF report is not valid JSON: {str(error)[:200]}")
    runs = runs_of(log)
    if runs is None:
        return Reading(error="the SARIF report has no runs")
    builder = ResultBuilder(
        source,
        lambda path: path_in_repository(path, root, mounted_at),
        lambda text, longest: shortened(text, longest=longest),
    )
    remarks: list[Remark] = []
    for run in runs:
        for remark in remarks_of(run, builder):
            if len(remarks) >= MOST_RESULTS:
                return Reading(remarks=tuple(remarks), error=f"only the first {MOST_RESULTS} results were read")
            remarks.append(remark)
    if failed_runs := [run for run in runs if failed(run)]:
        return Reading(remarks=tuple(remarks), error=f"{len(failed_runs)} of the analyser's runs did not succeed")
    return Reading(remarks=tuple(remarks))
