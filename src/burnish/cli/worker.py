"""burnish worker"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from burnish.cli.output import is_json_log, say, use_log_format
from burnish.cli.parameters import Option
from burnish.cli.session import SESSION, LogFormat, start_dir


def worker(
    project: Annotated[
        list[Path] | None,
        Option(
            "--project", metavar="PATH", help="Run the tasks of the repository at PATH; repeatable (default: here)."
        ),
    ] = None,
    jobs: Annotated[int, Option("-j", "--jobs", min=1, max=64, metavar="N", help="Run up to N tasks in parallel.")] = 1,
    label: Annotated[
        list[str] | None,
        Option("--label", metavar="LABEL", help="Run tasks that need LABEL, e.g. docker; repeatable."),
    ] = None,
    drain: Annotated[
        bool, Option("--drain", help="Let the worker of this burnish home finish its phases and end.")
    ] = False,
    log_format: LogFormat = None,
) -> None:
    """Run tasks on this machine, beside the workers of other machines.

    All of them share a PostgreSQL database and a git remote. SIGTERM or Ctrl-C lets running phases end and gives the
    tasks to other machines; a second signal stops at once.
    """
    from burnish.cli.progress import JsonProgress, PlainProgress
    from burnish.features.worker.worker import drain_running, open_projects, work
    from burnish.runtime import refuse_inside_phase
    from burnish.runtime.reader import home_of
    from burnish.runtime.tasks import clean_tags

    refuse_inside_phase()
    use_log_format(log_format)
    if drain:
        say(f"The worker (pid {drain_running(home_of() / 'locks')}) ends after the running phases.")
        return
    paths = [start_dir() / path for path in project or [Path()]]
    apps = open_projects(paths)
    progress = JsonProgress if is_json_log() else PlainProgress
    work(apps, jobs, clean_tags(label or ()), progress(several=True, verbose=SESSION.verbose))
