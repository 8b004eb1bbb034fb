"""The diff on a task's page: all of it, single files, and folded lines."""

from __future__ import annotations

import threading
from collections import OrderedDict
from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import HTMLResponse

from burnish.core.finding import Finding
from burnish.core.task import Task
from burnish.errors import NotFound, Refused
from burnish.features.tasks.changes import change_between, ends, last_reviewed, texts, without_secrets
from burnish.runtime.app import App
from burnish.views.diff import Diff, FileDiff, bare, pinned
from burnish.web.deps import ProjectDep, RegistryDep, TaskNumber
from burnish.web.pages.diff_lines import Painted, Painter, between, markup
from burnish.web.pages.rendering import fragment

router = APIRouter(prefix="/p/{project}/t/{task}/file", include_in_schema=False)

# lines that come with the page; further files are fetched when they scroll into view
AT_ONCE = 400
MOST_BETWEEN = 2_000
# further files are only counted; the raw patch has them
MOST_FILES = 400
MOST_KNOWN = 6

Tree = Annotated[str, Query(pattern="^[0-9a-f]{40,64}$")]
Number = Annotated[int, Query(ge=1, le=2**31)]

_painter = Painter()
_cache: OrderedDict[tuple[str, str], Diff] = OrderedDict()
_lock = threading.Lock()


def diff_of(app: App, task: Task, *, since_review: bool) -> dict[str, Any]:
    """The data of the part `changes`."""
    diff = _diff(app, task.id, since_review=since_review)
    bodies: dict[int, Painted] = {}
    room = AT_ONCE
    for file in diff.files[:MOST_FILES]:
        if not file.folded and file.lines <= room:
            room -= file.lines
            bodies[file.number] = _painted(app, file)
    return {
        "diff": diff,
        "bodies": bodies,
        "stamps": {file.number: stamp(file) for file in diff.files[:MOST_FILES]},
        "most": MOST_FILES,
        "since_review": since_review,
        "reviewed": last_reviewed(app, task) is not None,
        "markup": markup,
    }


@router.get("/{number}")
def file(
    registry: RegistryDep, project: ProjectDep, task: TaskNumber, number: int, tree: Tree, since_review: bool = False
) -> Response:
    app = registry.open(project.key)
    found = _file(app, task, number, tree, since_review)
    return fragment("task/file_body.html.j2", file=found, painted=_painted(app, found), markup=markup)


@router.get("/{number}/lines")
def lines(
    registry: RegistryDep,
    project: ProjectDep,
    task: TaskNumber,
    number: int,
    tree: Tree,
    old: Number,
    new: Number,
    count: Number,
    since_review: bool = False,
) -> Response:
    """Unchanged lines, up to a limit."""
    app = registry.open(project.key)
    change = _file(app, task, number, tree, since_review).file
    text = texts(app, [change.new_blob]).get(change.new_blob, "")
    return HTMLResponse(between(change.path, text, old, new, min(count, MOST_BETWEEN)))


def stamp(file: FileDiff) -> str:
    """A hash that changes when the file's diff or findings change."""
    words = [file.path, file.file.old_blob, file.file.new_blob, *(_look(finding) for finding in file.findings)]
    return sha256("\0".join(words).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _look(finding: Finding) -> str:
    return f"{finding.id} {finding.state} {finding.remark} {finding.note} {finding.waiver}"


def _file(app: App, task: int, number: int, tree: str, since_review: bool) -> FileDiff:
    diff = _diff(app, task, since_review=since_review)
    if diff.new_tree != tree:
        raise Refused("The branch has moved since this page was loaded.", hint="Reload the page.")
    if not 0 <= number < len(diff.files):
        raise NotFound(f"The change has no file number {number}.", hint="Reload the page.")
    return diff.files[number]


def _painted(app: App, file: FileDiff) -> Painted:
    return _painter.paint(file, lambda: texts(app, [file.file.old_blob, file.file.new_blob]))


def _diff(app: App, task: int, *, since_review: bool) -> Diff:
    trees = ends(app, task, since_review=since_review)
    with _lock:
        diff = _cache.get(trees)
        if diff is not None:
            _cache.move_to_end(trees)
    if diff is None:
        # slow for a large diff, so it is cached
        diff = bare(without_secrets(change_between(app, task, *trees)))
        with _lock:
            _cache[diff.old_tree, diff.new_tree] = diff
            while len(_cache) > MOST_KNOWN:
                _cache.popitem(last=False)
    return pinned(diff, app.store.findings(app.key, task))
