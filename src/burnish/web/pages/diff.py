"""The change on a task's page: the whole, each file when somebody comes near it, and lines that were folded away."""

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

# the first files come with the page, up to so many lines; the rest when somebody comes near
AT_ONCE = 400
MOST_BETWEEN = 2_000
# of more files than anybody reads, the rest is named as a number, and in the raw patch
MOST_FILES = 400
MOST_KNOWN = 6

Tree = Annotated[str, Query(pattern="^[0-9a-f]{40,64}$")]
Number = Annotated[int, Query(ge=1, le=2**31)]

_painter = Painter()
_known: OrderedDict[tuple[str, str], Diff] = OrderedDict()
_guard = threading.Lock()


def diff_of(app: App, task: Task, *, since_review: bool) -> dict[str, Any]:
    """What the part `changes` shows."""
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
    """Lines that nobody changed, as many as are asked for and can be borne."""
    app = registry.open(project.key)
    change = _file(app, task, number, tree, since_review).file
    text = texts(app, [change.new_blob]).get(change.new_blob, "")
    return HTMLResponse(between(change.path, text, old, new, min(count, MOST_BETWEEN)))


def stamp(file: FileDiff) -> str:
    """Another one whenever the file would look otherwise."""
    words = [file.path, file.file.old_blob, file.file.new_blob, *(_look(finding) for finding in file.findings)]
    return sha256("\0".join(words).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _look(finding: Finding) -> str:
    return f"{finding.id} {finding.state} {finding.remark} {finding.note} {finding.waiver}"


def _file(app: App, task: int, number: int, tree: str, since_review: bool) -> FileDiff:
    diff = _diff(app, task, since_review=since_review)
    if diff.new_tree != tree:
        raise Refused("The branch has moved since this page was made.", hint="Load the page again.")
    if not 0 <= number < len(diff.files):
        raise NotFound(f"The change has no file number {number}.", hint="Load the page again.")
    return diff.files[number]


def _painted(app: App, file: FileDiff) -> Painted:
    return _painter.paint(file, lambda: texts(app, [file.file.old_blob, file.file.new_blob]))


def _diff(app: App, task: int, *, since_review: bool) -> Diff:
    trees = ends(app, task, since_review=since_review)
    with _guard:
        known = _known.get(trees)
        if known is not None:
            _known.move_to_end(trees)
    if known is None:
        # slow for a large change, and the same each time
        known = bare(without_secrets(change_between(app, task, *trees)))
        with _guard:
            _known[known.old_tree, known.new_tree] = known
            while len(_known) > MOST_KNOWN:
                _known.popitem(last=False)
    return pinned(known, app.store.findings(app.key, task))
