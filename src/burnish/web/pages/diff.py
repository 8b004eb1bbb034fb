"""The diff on a task's page: all of it, single files, and folded lines."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from burnish.core.finding import Finding
from burnish.core.task import Task
from burnish.errors import NotFound, Refused
from burnish.features.review.drafts import FileDrafts, placed_drafts, read_draft
from burnish.features.tasks.inspect import (
    change_between,
    change_ends,
    cycle_trees,
    file_texts,
    last_reviewed,
    without_secrets,
)
from burnish.runtime.app import App
from burnish.views.diff import Diff, FileDiff, bare, ignoring_space, pinned
from burnish.web.deps import ProjectDep, RegistryDep, TaskNumber
from burnish.web.pages.paint import Painted, Painter, between
from burnish.web.pages.rendering import fragment

router = APIRouter(prefix="/p/{project}/t/{task}/file", include_in_schema=False)

# lines that come with the page; further files are fetched when they scroll into view
AT_ONCE = 400
MAX_BETWEEN = 2_000
# further files are only counted; the raw patch has them
MAX_FILES = 400
MAX_KNOWN = 6

Tree = Annotated[str, Query(pattern="^[0-9a-f]{40,64}$")]
Number = Annotated[int, Query(ge=1, le=2**31)]


@dataclass(frozen=True, slots=True)
class DiffView:
    """What of the change is shown. `span` is all of it, or `review`, `seen` or `1..2` (between two cycles)."""

    span: str = ""
    ignores_space: bool = False


WHOLE = DiffView()


def _view(
    span: Annotated[str, Query(pattern=r"^(review|seen|[0-9]{1,4}\.\.[0-9]{1,4})?$")] = "", space: bool = True
) -> DiffView:
    return DiffView(span, not space)


ViewDep = Annotated[DiffView, Depends(_view)]


@router.get("/{number}")
def file(
    registry: RegistryDep, project: ProjectDep, task: TaskNumber, number: int, tree: Tree, view: ViewDep
) -> Response:
    app = registry.open(project.key)
    found = _file(app, task, number, tree, view)
    drafts = placed_drafts([found], read_draft(app, task).comments)
    return fragment(
        "task/file_body.html.j2", file=found, painted=_painted(app, found), markup=markup, drafts=drafts.get(found.path)
    )


def _painted(app: App, file: FileDiff) -> Painted:
    return _painter.paint(file, lambda: file_texts(app, [file.file.old_blob, file.file.new_blob]))


def markup(html: str) -> Markup:
    """Mark rows of this module, which are escaped, as safe."""
    return Markup(html)


def _file(app: App, task: int, number: int, tree: str, view: DiffView) -> FileDiff:
    diff = _diff(app, task, view)
    if diff.new_tree != tree:
        raise Refused("The branch has moved since this page was loaded.", hint="Reload the page.")
    if not 0 <= number < len(diff.files):
        raise NotFound(f"The change has no file number {number}.", hint="Reload the page.")
    return diff.files[number]


def _diff(app: App, task: int, view: DiffView) -> Diff:
    trees = _ends(app, task, view.span)
    with _lock:
        diff = _cache.get(trees)
        if diff is not None:
            _cache.move_to_end(trees)
    if diff is None:
        # slow for a large diff, so it is cached
        diff = bare(without_secrets(change_between(app, task, *trees)))
        with _lock:
            _cache[diff.old_tree, diff.new_tree] = diff
            while len(_cache) > MAX_KNOWN:
                _cache.popitem(last=False)
    diff = ignoring_space(diff) if view.ignores_space else diff
    return pinned(diff, app.store.findings(app.key, task))


def _ends(app: App, task: int, span: str) -> tuple[str, str]:
    """The trees that the shown change lies between."""
    old, new = change_ends(app, task, since_review=span == "review")
    if span == "seen":
        return read_draft(app, task).seen_before(new) or old, new
    first, dots, last = span.partition("..")
    if not dots:
        return old, new
    trees = {0: old, **cycle_trees(app, app.store.task(app.key, task))}
    if int(first) not in trees or int(last) not in trees:
        raise NotFound(f"Task {task} has no code of cycle {first} or {last}.", hint="Choose other cycles.")
    return trees[int(first)], trees[int(last)]


_cache: OrderedDict[tuple[str, str], Diff] = OrderedDict()
_lock = threading.Lock()


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
    view: ViewDep,
) -> Response:
    """Unchanged lines, up to a limit."""
    app = registry.open(project.key)
    change = _file(app, task, number, tree, view).file
    text = file_texts(app, [change.new_blob]).get(change.new_blob, "")
    return HTMLResponse(between(change.path, text, old, new, min(count, MAX_BETWEEN)))


_painter = Painter()


def diff_of(app: App, task: Task, view: DiffView) -> dict[str, Any]:
    """The data of the part `changes`."""
    diff = _diff(app, task.id, view)
    bodies: dict[int, Painted] = {}
    room = AT_ONCE
    review = read_draft(app, task.id)
    drafts = placed_drafts(diff.files[:MAX_FILES], review.comments)
    for file in diff.files[:MAX_FILES]:
        if not file.folded and file.lines <= room:
            room -= file.lines
            bodies[file.number] = _painted(app, file)
    return {
        "diff": diff,
        "bodies": bodies,
        "stamps": {file.number: stamp(file, drafts.get(file.path)) for file in diff.files[:MAX_FILES]},
        "drafts": drafts,
        "drafts_apart": [one for one in review.comments if one.path not in drafts],
        "viewed": {file.number for file in diff.files if review.viewed.get(file.path) == file.file.new_blob},
        "most": MAX_FILES,
        "view": view,
        "spans": _spans(app, task, review.seen_before(diff.new_tree)),
        "markup": markup,
    }


def _spans(app: App, task: Task, seen_tree: str) -> list[tuple[str, str]]:
    """What a reader can choose to see, with its label."""
    spans = [("", "All changes")]
    if last_reviewed(app, task) is not None:
        spans.append(("review", "Since the last review"))
    if seen_tree:
        spans.append(("seen", "Since I last looked"))
    cycles = sorted(cycle_trees(app, task))
    pairs = pairwise(cycles)
    return spans + [(f"{one}..{two}", f"Cycle {one} to {two}") for one, two in pairs]


def stamp(file: FileDiff, drafts: FileDrafts | None = None) -> str:
    """A hash that changes when the file's diff, findings or draft comments change."""
    words = [file.path, file.file.old_blob, file.file.new_blob, *(_look(finding) for finding in file.findings)]
    words += [repr(drafts) if drafts else "", str(file.ignores_space)]
    return sha256("\0".join(words).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _look(finding: Finding) -> str:
    return f"{finding.id} {finding.state} {finding.remark} {finding.note} {finding.waiver} {finding.replies}"
