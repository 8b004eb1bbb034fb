"""Tasks as a table or as one board: of a project, or of all projects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from burnish.features.server.registry import ProjectRegistry
from burnish.store.rows import ProjectRow
from burnish.views.board import GROUPS, ORDER, TaskCard, cards_of
from burnish.views.board_moves import ACTS, acts_json
from burnish.views.filters import mentioning
from burnish.web.deps import ProjectDep, RegistryDep
from burnish.web.pages.rendering import fragment, page

router = APIRouter(include_in_schema=False)

Text = Annotated[str, Query(max_length=500)]

# acts on several tasks: those that ask for no text and open no page
_BULK = ("run", "goon", "retry", "back", "stop", "pause", "unpause", "cancel", "archive", "remove")


@dataclass(frozen=True, slots=True)
class TableRow:
    card: TaskCard
    project: ProjectRow

    @property
    def acts(self) -> list[str]:
        possible = {*self.card.moves.values(), *self.card.others}
        return [name for name in _BULK if name in possible]

    def mentions(self, words: Sequence[str]) -> bool:
        """Whether what the card shows has all of the words."""
        card = self.card
        text = f"{self.project.name} t{card.id} {card.title} {' '.join(card.tags)} {card.agent}".lower()
        return all(word in text for word in words)


@router.get("/p/{project}/list")
def show(request: Request, registry: RegistryDep, project: ProjectDep) -> Response:
    return _page(request, registry, [project], project)


@router.get("/p/{project}/list/part")
def part(registry: RegistryDep, project: ProjectDep) -> Response:
    return fragment("list_part.html.j2", **_view(registry, [project]))


@router.get("/all/list")
def show_all(request: Request, registry: RegistryDep) -> Response:
    return _page(request, registry, registry.projects(), None)


@router.get("/all/list/part")
def part_of_all(registry: RegistryDep) -> Response:
    return fragment("list_part.html.j2", **_view(registry, registry.projects()))


@router.get("/all")
def board_of_all(request: Request, registry: RegistryDep, q: Text = "") -> Response:
    projects = registry.projects()
    since = {row.key: registry.store.last_event(row.key) for row in projects}
    return page(
        request,
        "all.html.j2",
        title="All projects",
        here="all",
        since=since,
        acts=acts_json(),
        q=q,
        **_columns(registry, projects, q),
    )


@router.get("/all/part")
def part_of_board(registry: RegistryDep, q: Text = "") -> Response:
    return fragment("all_part.html.j2", q=q, **_columns(registry, registry.projects(), q))


def _page(
    request: Request, registry: ProjectRegistry, projects: list[ProjectRow], project: ProjectRow | None
) -> Response:
    # read before the data, so that no event in between is missed
    since = {row.key: registry.store.last_event(row.key) for row in projects}
    title = f"Tasks of {project.name}" if project else "Tasks of all projects"
    acts = [(name, ACTS[name]) for name in _BULK]
    view = _view(registry, projects)
    return page(
        request,
        "list.html.j2",
        title=title,
        here="list",
        project=project,
        since=since,
        acts=[
            {
                "name": name,
                "label": a.label,
                "method": a.method,
                "path": a.path,
                "body": dict(a.body),
                "ask": a.ask,
                "words": a.words,
            }
            for name, a in acts
        ],
        statuses=ORDER,
        tags=sorted({tag for row in view["rows"] for tag in row.card.tags}),
        agents=sorted({row.card.agent for row in view["rows"] if row.card.agent}),
        **view,
    )


def _view(registry: ProjectRegistry, projects: list[ProjectRow]) -> dict[str, Any]:
    several = len(projects) > 1
    # an empty project, too, is renewed with its own tasks alone
    board = f"/p/{projects[0].key}" if projects and not several else "/all"
    return {"rows": _rows(registry, projects), "several": several, "board": board}


def _rows(registry: ProjectRegistry, projects: list[ProjectRow]) -> list[TableRow]:
    holders, waiting = registry.holders(), registry.waiting(projects)
    return [
        TableRow(card, project)
        for project in projects
        for card in cards_of(registry.store.tasks(project.key, brief=True), holders, waiting=waiting)
    ]


def _columns(registry: ProjectRegistry, projects: list[ProjectRow], query: str) -> dict[str, Any]:
    rows = _rows(registry, projects)
    if words := query.lower().split():
        in_text = {
            (project.key, task.id)
            for project in projects
            for task in mentioning(registry.store.tasks(project.key), query)
        }
        rows = [row for row in rows if (row.project.key, row.card.id) in in_text or row.mentions(words)]
    # newest first: ranks of different projects cannot be compared
    rows.sort(key=lambda row: row.card.updated_at, reverse=True)
    columns = [
        (name, title, statuses, [row for row in rows if row.card.group == name]) for name, title, statuses in GROUPS
    ]
    return {"columns": columns, "limit": _LIMIT}


# cards of a column on the board of all projects; the list has all of them
_LIMIT = 200
