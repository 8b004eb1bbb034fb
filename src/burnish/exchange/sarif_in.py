"""Reads the findings of a SARIF report."""

from __future__ import annotations

from burnish.core.sarif import ResultBuilder, at, failed, remarks_of, runs_of
from burnish.exchange.report import NotReadable, Report, make_report, parse_json, place, shorten


def read_sarif(text: str, *, source: str) -> Report:
    """Read the results of all runs; raises `NotReadable` if the report or a run is incomplete."""
    runs = runs_of(parse_json(text, "SARIF report"))
    if runs is None:
        raise NotReadable("the SARIF report has no runs")
    if bad := sum(failed(run) for run in runs):
        raise NotReadable(f"the report says that {bad} of {len(runs)} runs of the analyser failed")
    builder = ResultBuilder(source, place, shorten)
    names = [name for run in runs if isinstance(name := at(run, "tool", "driver", "name"), str)]
    tool = ", ".join(dict.fromkeys(shorten(name, 60) for name in names))
    return make_report(tool, [remark for run in runs for remark in remarks_of(run, builder)])
