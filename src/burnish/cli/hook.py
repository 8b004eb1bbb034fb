"""burnish hook"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

from burnish.cli.output import clean, coloured, one_line, paint, say, say_json, tell
from burnish.cli.parameters import Argument, Option
from burnish.cli.session import SESSION, AsJson, start_dir
from burnish.errors import BadInput, BurnishError

if TYPE_CHECKING:
    from burnish.features.hooks.commits import CommitReview
    from burnish.features.hooks.install import HookChange
    from burnish.features.review.adhoc_review import AdhocResult

ACTIONS = ("install", "uninstall", "last", "run")
MAX_QUESTION_BYTES = 16 * 1024 * 1024
QUESTION_SECONDS = 30.0


def hook(
    action: Annotated[str, Argument(metavar="install|uninstall|last", help="The action.", show_default=False)],
    name: Annotated[
        str | None,
        Argument(
            metavar="NAME",
            help="An agent program (e.g. claude), or git.",
            show_default=False,
        ),
    ] = None,
    everywhere: Annotated[bool, Option("--global", help="Change your user settings, for all projects.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Print what would change; change nothing.")] = False,
    commit: Annotated[str | None, Option("--commit", metavar="SHA", hidden=True)] = None,
    as_json: AsJson = False,
) -> int:
    """Review automatically when an agent stops or you commit.

    install adds a hook. The hook of an agent program reviews the work when the agent stops. If the review does not
    pass, the agent continues, at most `hook.max_rounds` times. The git hook reviews each commit in the background.

    uninstall restores the files. last shows the review of the last commit, and failed reviews of agent stops.
    """
    if action == "run":
        return _run(name, commit)
    if action == "last":
        return _last(as_json)
    if action not in ACTIONS:
        raise BadInput(f"Unknown action {action!r}.", hint="Choose from: install, uninstall, last.")
    from burnish.features.hooks import install as hooks

    if name not in hooks.NAMES:
        what = f"Unknown hook {name!r}." if name else "Missing argument 'NAME'."
        raise BadInput(what, hint=f"Choose from: {', '.join(hooks.NAMES)}.")
    change = hooks.install if action == "install" else hooks.uninstall
    _show(change(start_dir(), name, everywhere=everywhere, dry_run=dry_run), action, name, dry_run, as_json)
    return 0


def _show(change: HookChange, action: str, name: str, dry_run: bool, as_json: bool) -> None:
    if as_json:
        files = [{"path": str(e.path), "changed": e.changes, "diff": e.diff()} for e in change.edits]
        say_json({"hook": name, "action": action, "dry_run": dry_run, "files": files, "notes": list(change.notes)})
        return
    if not change.changes:
        say(f"The {name} hook is {'already' if action == 'install' else 'not'} installed: nothing to do.")
    for edit in change.edits:
        if edit.changes and dry_run:
            say(clean(edit.diff()))
        elif edit.changes:
            word = "Removed" if edit.new is None else "Created" if edit.old is None else "Changed"
            say(f"{word} {clean(str(edit.path))}")
    for note in change.notes if change.changes else ():
        tell(clean(note))


def _run(name: str | None, commit: str | None) -> int:
    """The command that a hook calls. An error must not block the agent: no stdout, exit code 0."""
    answer = ""
    try:
        answer = _answer(name or "", commit)
    except BurnishError as error:
        tell(f"burnish: {one_line(error.what)} {one_line(error.hint)}".rstrip())
    except Exception as error:
        # Even our own bugs: an agent that cannot stop is worse than a review that is missing.
        if SESSION.debug:
            raise
        tell(f"burnish: no review because of a bug in burnish: {type(error).__name__}: {one_line(str(error))[:200]}")
    if answer:
        say(answer)
    return 0


def _answer(name: str, commit: str | None) -> str:
    from burnish.adapters.agents import StopTokens
    from burnish.agents.registry import STOP_HOOKS
    from burnish.features.hooks.programs import GIT
    from burnish.features.hooks.stop import is_nested, on_stop
    from burnish.runtime.signals import stopping_on_signals

    if name not in (*STOP_HOOKS, GIT):
        raise BadInput(f"Unknown hook {name!r}.")
    if is_nested():
        return ""
    stops = StopTokens()
    with stopping_on_signals(stops, _tell):
        if name == GIT:
            _review_commit(commit or "", stops)
            return ""
        if sys.stdin.isatty():
            raise BadInput(
                "`burnish hook run` is called by the agent, not by hand.",
                hint=f"Install the hook: burnish hook install {name}",
            )
        return on_stop(STOP_HOOKS[name], _question(), stops=stops, say=_tell)


def _question() -> bytes:
    """Read the hook input from stdin, with a time limit."""
    import select
    import time

    try:
        handle = sys.stdin.fileno()
    except OSError:  # not a file: a text that was handed in
        return sys.stdin.buffer.read(MAX_QUESTION_BYTES)
    data, end = b"", time.monotonic() + QUESTION_SECONDS
    while len(data) < MAX_QUESTION_BYTES:
        if not select.select([handle], [], [], max(0.0, end - time.monotonic()))[0]:
            raise BadInput(f"Standard input was not closed within {QUESTION_SECONDS:g} seconds.")
        piece = os.read(handle, 1 << 16)
        if not piece:
            break
        data += piece
    return data


def _tell(text: str) -> None:
    tell(f"burnish: {one_line(text)}")


def _review_commit(commit: str, stops: Any) -> None:
    from burnish.features.hooks.commits import is_rebasing, on_commit
    from burnish.features.hooks.stop import known

    if not re.fullmatch(r"[0-9a-f]{40}([0-9a-f]{24})?", commit):
        raise BadInput(
            "Missing option '--commit'.", hint="The git hook calls this command. Install it: burnish hook install git"
        )
    found = known(start_dir())
    if is_rebasing(found):
        return
    with suppress(OSError):
        os.setsid()  # the terminal may be closed, or Ctrl-C typed in it, long before the review is over
    on_commit(found, commit, stops=stops, say=_tell, render=_rendered)


def _rendered(result: AdhocResult) -> str:
    from burnish.cli.report import ReportText, report

    return "\n".join(report(result, ReportText(100, colour=False)))


def _last(as_json: bool) -> int:
    from burnish.features.hooks.commits import failed_stop_reviews, last_review

    (review, head), failed_stops = last_review(start_dir()), failed_stop_reviews(start_dir())
    is_head = review is not None and review.commit == head
    if as_json:
        answer = _as_json(review, is_head)
        stops = [{"agent": one.agent, "error": one.why, "since": one.since} for one in failed_stops]
        say_json({**answer, "failed_stops": stops} if answer else {"failed_stops": stops} if stops else None)
    elif review is not None:
        _show_review(review)
        if not is_head and head:
            say(f"The checked-out commit {head[:10]} was not reviewed. Review it: burnish review {head[:10]}")
    elif not failed_stops:
        say("No commit has been reviewed yet. To review each commit: burnish hook install git")
    for one in [] if as_json else failed_stops:
        say(paint(f"At the last stop of {one.agent} ({one.since}):", "red", on=coloured(sys.stdout)))
        say(clean(one.why))
    if failed_stops and (review is None or review.state != "done" or review.passed):
        return 3
    return _exit_code(review, is_head) if review else 0


def _exit_code(review: CommitReview, is_head: bool) -> int:
    """0 only if the commit that is checked out was reviewed and approved."""
    if review.state == "failed":
        return 3
    return 0 if review.state == "done" and review.passed and is_head else 1


def _show_review(review: CommitReview) -> None:
    short = review.commit[:10]
    if review.state == "done":
        say(clean(review.text) or f"Commit {short}: nothing to review.")
    elif review.state == "failed":
        say(paint(f"The review of commit {short} failed.", "red", on=coloured(sys.stdout)))
        say(clean(review.error))
    else:
        say(f"Commit {short} is {'being reviewed' if review.state == 'running' else 'waiting for its review'}.")


def _as_json(review: CommitReview | None, is_head: bool) -> dict[str, Any] | None:
    if review is None:
        return None
    names = ("commit", "state", "verdict", "passed", "summary", "findings", "error")
    return {**{name: getattr(review, name) for name in names}, "is_checked_out": is_head}
