"""The board of a project: the page, updates of its cards, and the form for a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from burnish.core.status import Status
from burnish.core.task import Task, TaskType
from burnish.errors import BadInput, BurnishError
from burnish.features.server.registry import ProjectRegistry
from burnish.features.server.task_output import LiveCall, live_call
from burnish.proc import clock
from burnish.views.board import ORDER, Holders, TaskCard, board, cards_of, head_of, near
from burnish.views.board_moves import NEEDS_TRUST, acts_json, refuse_move
from burnish.views.filters import mentioning, unmet_among
from burnish.web.deps import ProjectDep, RegistryDep, TaskNumber
from burnish.web.pages.rendering import fragment, page

router = APIRouter(prefix="/p/{project}", include_in_schema=False)

MAX_IDS = 2000
# of each column, in the page itself: more than a screen shows. The page fetches the rest when these are painted
FIRST_CARDS = 30
# set by the page: the server has to know it before it renders
COLUMNS_COOKIE = "burnish_columns"
Text = Annotated[str, Query(max_length=500)]
Ids = Annotated[str, Query(max_length=MAX_IDS * 8)]


@router.get("")
def show(request: Request, registry: RegistryDep, project: ProjectDep) -> Response:
    # read before the data, so that no event in between is missed
    since = registry.store.last_event(project.key)
    by_status = _by_status(request)
    holders = registry.holders()
    view = board(registry.store, project.key, holders, registry.waiting([project]), by_status=by_status)
    return page(
        request,
        "board.html.j2",
        title=project.name,
        here="board",
        project=project,
        view=view,
        by_status=by_status,
        statuses=ORDER,
        since=since,
        first_cards=FIRST_CARDS,
        more=[card.id for column in view.columns for card in column.cards[FIRST_CARDS:]],
        acts=acts_json(),
        steps=_steps(registry, project.key, [card for column in view.columns for card in column.cards]),
        **_runs(registry, project.key, holders),
    )


@router.get("/cards")
def cards(
    request: Request, registry: RegistryDep, project: ProjectDep, ids: Ids = "", around: bool = False
) -> Response:
    """Current cards of these tasks, and the summary; `around` adds their dependencies. Removed tasks are left out."""
    numbers = _numbers(ids)
    tasks, holders = registry.store.tasks(project.key, brief=True), registry.holders()
    waiting = registry.waiting([project], {project.key: tasks})
    shown_ids = near(tasks, numbers) if around else numbers
    cards = cards_of(tasks, holders, sorted(shown_ids), waiting)
    return fragment(
        "board_cards.html.j2",
        head=head_of(tasks, holders, waiting),
        cards=cards,
        by_status=_by_status(request),
        steps=_steps(registry, project.key, cards),
        project=project,
        **_runs(registry, project.key, holders),
        notices=[notice for notice in registry.notices() if notice.project in (project.key, "")][-5:],
    )


@router.get("/why")
def why(registry: RegistryDep, project: ProjectDep, task: int, to: Status) -> dict[str, bool]:
    """Raise the reason why a task cannot be moved to a status."""
    tasks = registry.store.tasks(project.key, brief=True)
    found = next((one for one in tasks if one.id == task), None) or registry.store.task(project.key, task)
    unmet = unmet_among(tasks)(found) if found.status is Status.BACKLOG else []
    act = refuse_move(found, to, unmet=unmet, standing=registry.holders().standing(found))
    if act in NEEDS_TRUST and (trust := registry.untrusted(project)):
        trust.require()
    return {"legal": True}


@router.get("/found")
def found(registry: RegistryDep, project: ProjectDep, q: Text = "") -> dict[str, list[int]]:
    """Ids of tasks whose texts contain all words of the query, including texts that cards do not show."""
    return {"ids": [task.id for task in mentioning(registry.store.tasks(project.key), q)]}


@router.get("/form")
def add_form(registry: RegistryDep, project: ProjectDep) -> Response:
    return _form(registry, project.key, None)


@router.get("/form/{task}")
def edit_form(registry: RegistryDep, project: ProjectDep, task: TaskNumber) -> Response:
    return _form(registry, project.key, registry.store.task(project.key, task))


def _form(registry: ProjectRegistry, key: str, task: Task | None) -> Response:
    others = [one for one in registry.store.tasks(key, brief=True) if task is None or one.id != task.id]
    return fragment(
        "board_form.html.j2",
        task=task,
        others=others,
        agents=_agents(registry, key),
        may_start=task is None and registry.holders().is_trusted(key),
        types=[kind.value for kind in TaskType],
    )


def _by_status(request: Request) -> bool:
    """Whether this browser shows a column for each status."""
    return request.cookies.get(COLUMNS_COOKIE) == "status"


def _runs(registry: ProjectRegistry, key: str, holders: Holders) -> dict[str, Any]:
    """What the head of the board shows about runs."""
    return {
        "runs": [run.id for run in registry.runs.active(key)],
        "auto": registry.runs.auto(key) is not None,
        "is_trusted": holders.is_trusted(key),
        "limits": [(limit.words(clock.now()), limit.message) for limit in registry.limits()],
    }


def _steps(registry: ProjectRegistry, key: str, cards: Sequence[TaskCard]) -> dict[int, LiveCall]:
    """What the agents of running tasks did last."""
    running = [registry.store.task(key, card.id) for card in cards if card.doing]
    return {task.id: live for task in running if (live := live_call(registry.home, task, 1)).lines}


def _agents(registry: ProjectRegistry, key: str) -> list[str]:
    try:
        return sorted(registry.open(key).agent_settings())
    except BurnishError:
        # invalid settings are reported by a run; a task can be added anyway
        return []


def _numbers(text: str) -> set[int]:
    parts = [part for part in text.split(",") if part]
    if len(parts) > MAX_IDS or not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise BadInput("Invalid task ids.", hint="Separate numbers with commas, e.g. ids=3,5")
    return {int(part) for part in parts}
