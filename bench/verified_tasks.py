"""Many verified tasks in seconds: one that burnish ran, and copies of its records, branch and folders."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bench.ground import Ground
from burnish.core.event import RecordedEvent
from burnish.store import Store


def copy_verified(place: Ground, count: int) -> None:
    """Tasks 2 to `count` + 1, each a copy of task 1 with a commit of its own. Task 1 must be the only one."""
    home = Path(place.env["BURNISH_HOME"])
    with Store.open(home) as store:
        (task,) = store.tasks()
        events = store.events(task.project, task=1)
        start = store.last_event(task.project) + 1
        numbers = range(2, count + 2)
        shas = _commits(place, task.name, str(task.base), [_name(task.name, n) for n in numbers])
        tree = place.git("rev-parse", f"{task.commit}^{{tree}}").strip()
        words = {
            n: {str(task.commit): shas[n - 2][0], tree: shas[n - 2][1], task.name: _name(task.name, n)} for n in numbers
        }
        store.replay(task.project, _renumber(events, words, start))
        for number in numbers:
            store.mark_archived(task.project, number, start + (number - 1) * len(events) - 1)
            for kind in (f"projects/{task.project}/tasks", f"workspaces/{task.project}"):
                shutil.copytree(home / kind / task.name, home / kind / _name(task.name, number), symlinks=True)


def _name(name: str, number: int) -> str:
    return f"{number}-{name.partition('-')[2]}"


def _renumber(events: list[RecordedEvent], words: dict[int, dict[str, str]], start: int) -> Iterator[RecordedEvent]:
    for number, changes in words.items():
        for event in events:
            text = json.dumps(event.data)
            for old, new in changes.items():
                text = text.replace(old, new)
            yield replace(event, id=start, task=number, data=json.loads(text))
            start += 1


def _commits(place: Ground, name: str, base: str, names: list[str]) -> list[tuple[str, str]]:
    """A branch and a ref of artifacts for each name; the commit and tree of each branch."""
    lines = []
    for number, other in enumerate(names):
        for ref in (f"refs/heads/burnish/{other}", f"refs/burnish/artifacts/{other}"):
            text = f"# {ref} {number}\n"
            lines += [
                f"commit {ref}\ncommitter B <b@example.org> 1700000000 +0000\ndata 2\nx\n\n",
                f"from {base}\n" * ref.startswith("refs/heads/"),
                f"M 100644 inline app.py\ndata {len(text)}\n{text}\n",
            ]
    place.call("git", "fast-import", "--quiet", stdin="".join(lines))
    listing = place.git("for-each-ref", "--format=%(refname) %(objectname) %(tree)", "refs/heads/burnish")
    known = {ref: (sha, tree) for ref, sha, tree in map(str.split, listing.splitlines())}
    return [known[f"refs/heads/burnish/{other}"] for other in names]
