"""burnish export"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from burnish.cli.output import clean, tell
from burnish.cli.parameters import Argument, Option
from burnish.cli.session import AsJson, offer_tasks, open_reader, write_output
from burnish.core.task import task_id
from burnish.errors import BadInput


def export(
    task: Annotated[
        str | None,
        Argument(metavar="TASK", help="The task, e.g. 29 or T29.", show_default=False, autocompletion=offer_tasks),
    ] = None,
    format: Annotated[
        str | None,
        Option(
            "--format",
            metavar="FORMAT",
            help="Write sarif, rdjson, github, junit, markdown, html or json. Default: by the ending of FILE.",
        ),
    ] = None,
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="FILE", help="Write to FILE instead of standard output.")
    ] = None,
    night: Annotated[
        bool, Option("--night", help="Report what all tasks did since TIME, what waits, and the cost.")
    ] = False,
    since: Annotated[
        str | None, Option("--since", metavar="TIME", help="With --night: begin at TIME: 12h (default), 7d or a date.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a task for other tools: SARIF, rdjson, JUnit, HTML.

    `sarif`, `rdjson` and `github` hold the open findings, `junit` the last checks. `markdown`, `html` and `json` hold
    everything, and can report a night. Secrets are redacted.
    """
    from datetime import UTC, datetime

    from burnish.features.export.export import ProjectRecords, chosen_format, export_night, export_task
    from burnish.views.filters import since_when

    if (task is None) is not night:
        raise BadInput("Name a task, or --night." if not night else "TASK and --night cannot be combined.", hint=_USAGE)
    if since and not night:
        raise BadInput("--since belongs to --night.", hint=_USAGE)
    name = chosen_format("json" if as_json and format is None else format, output, night=night)
    reader = open_reader()
    records = ProjectRecords(reader.store, reader.key, reader.found.root.name, reader.alive, reader.home)
    if task is None:
        now = datetime.now(UTC)
        text = export_night(records, since_when(since or "12h", now), name, now=now)
    else:
        text = export_task(records, task_id(task), name)
    if output is None or str(output) == "-":
        sys.stdout.write(clean(text) if sys.stdout.isatty() else text)
    else:
        write_output(output, text)
        tell(f"Wrote {clean(str(output))}.")


_USAGE = "Usage: burnish export TASK [--format FORMAT] [-o FILE], or burnish export --night [--since TIME]"
