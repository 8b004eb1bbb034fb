"""Shows the current step: a spinner on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from burnish.cli.output import is_plain, tell
from burnish.cli.session import SESSION
from burnish.cli.text import one_line


@contextmanager
def waiting() -> Iterator[Callable[[str], None]]:
    """Yields a function that shows the current step on stderr; silent with -q."""
    if SESSION.quiet:
        yield lambda text: None
        return
    if not sys.stderr.isatty() or is_plain() or os.environ.get("TERM") == "dumb":
        yield lambda text: tell(f"{one_line(text)}…")
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(file=sys.stderr, highlight=False), transient=True) as progress:
        row = progress.add_task("", total=None)
        yield lambda text: progress.reset(row, description=escape(one_line(text)), total=None)
