"""A SARIF report as a review: findings, and no verdict of its own."""

from __future__ import annotations

from burnish.core.sarif import ResultBuilder, at, failed, remarks_of, runs_of
from burnish.exchange.report import NotReadable, Report, checked, parsed, place, shorten


def read_sarif(text: str, *, source: str) -> Report:
    """The results of every run; `NotReadable` if the report, or an analyser's run, is not whole."""
    runs = runs_of(parsed(text, "SARIF report"))
    if runs is None:
        raise NotReadable("the SARIF report has no runs")
    if bad := sum(failed(run) for run in runs):
        raise NotReadable(f"{bad} of {len(runs)} runs of the analyser did not succeed, by its own word")
    means = ResultBuilder(source, place, shorten)
    names = [name for run in runs if isinstance(name := at(run, "tool", "driver", "name"), str)]
    tool = ", ".join(dict.fromkeys(shorten(name, 60) for name in names))
    return checked(tool, [remark for run in runs for remark in remarks_of(run, means)])
