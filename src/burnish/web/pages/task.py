"""The page of a task, its parts, and the output of its agents and checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse, StreamingResponse
from markupsafe import Markup

from burnish.core.override import QUESTIONS
from burnish.core.status import Status
from burnish.core.task import Task, TaskType
from burnish.errors import BurnishError, NotFound
from burnish.features.decide.decisions import decision_view
from burnish.features.review.drafts import own_draft
from burnish.features.server.registry import ProjectRegistry
from burnish.features.server.task_output import (
    Output,
    list_artifacts,
    live_call,
    output,
    outputs,
    piece,
    read_artifact_text,
    readable_piece,
)
from burnish.features.tasks.inspect import artifact as artifact_bytes
from burnish.features.tasks.inspect import base_tree, masked_line
from burnish.runtime.app import App
from burnish.sanitize import clean_text
from burnish.store.rows import ProjectRow
from burnish.views.task_page.answers import secret_places
from burnish.views.task_page.checks import checks_view
from burnish.views.task_page.page import TaskHead, findings_view, head_of
from burnish.views.task_page.story import story
from burnish.web.deps import ProjectDep, RegistryDep, TaskNumber
from burnish.web.pages.diff import WHOLE, DiffView, ViewDep, diff_of
from burnish.web.pages.markdown import MAX_ARTIFACT_LENGTH, artifact_html
from burnish.web.pages.rendering import fragment, page, render

router = APIRouter(prefix="/p/{project}/t/{task}", include_in_schema=False)

Name = Annotated[str, Path(max_length=300)]
# the tab that is opened first, by status
_OPENS = {"waiting_approval": "changes", "verified": "changes", "blocked": "findings"}


def _opens(context: PageContext) -> str:
    """The tab to open first: `story` if the tab for the status would be empty."""
    task = context.task
    tab = _OPENS.get(task.status.value, "story")
    empty = (tab == "changes" and task.commit in (None, task.base)) or (tab == "findings" and not task.open_findings)
    return "story" if empty else tab


@router.get("")
def show(request: Request, registry: RegistryDep, project: ProjectDep, task: TaskNumber) -> Response:
    # read before the data, so that no event in between is missed
    since = registry.store.last_event(project.key)
    context = page_context(registry, project, task)
    return page(
        request,
        "task.html.j2",
        title=f"T{task} {context.task.spec.title}",
        here="task",
        project=project,
        task=context.task,
        head=context.head,
        since=since,
        parts={name: Markup(part(name, context)) for name in AT_ONCE},
        opens=_opens(context),
        questions=QUESTIONS,
    )


@router.get("/parts")
def parts(
    registry: RegistryDep,
    project: ProjectDep,
    task: TaskNumber,
    names: Annotated[str, Query(max_length=200)],
    view: ViewDep,
) -> Response:
    """The current HTML of several parts."""
    part_names = names.split(",")
    if any(name not in PARTS for name in part_names):
        raise NotFound("Unknown part of the page.", hint=f"The parts are: {', '.join(PARTS)}.")
    context = page_context(registry, project, task, view)
    return HTMLResponse("\n".join(part(name, context) for name in part_names))


@router.get("/output/{name}")
def printed(
    registry: RegistryDep,
    project: ProjectDep,
    task: TaskNumber,
    name: Name,
    offset: Annotated[int, Query(ge=-1, le=2**50)] = 0,
) -> dict[str, Any]:
    """A piece of the output from `offset` on; -1 starts near the end."""
    found = readable_piece(output(registry.home, registry.store.task(project.key, task), name), offset)
    return {"text": found.text, "start": found.offset, "next": found.next, "size": found.size}


@router.get("/output/{name}/raw")
def whole(registry: RegistryDep, project: ProjectDep, task: TaskNumber, name: Name) -> Response:
    """The whole output as a file, without control characters and secrets."""
    found = output(registry.home, registry.store.task(project.key, task), name)
    headers = {"Content-Disposition": f'attachment; filename="task-{task}-{_plain(name)}.txt"'}
    return StreamingResponse(_pieces(found), media_type="text/plain; charset=utf-8", headers=headers)


@router.get("/artifact/{name}")
def artifact(registry: RegistryDep, project: ProjectDep, task: TaskNumber, name: Name) -> Response:
    text = read_artifact_text(registry.home, registry.store.task(project.key, task), name)
    return fragment("task/artifact.html.j2", name=name, read=read(name, text))


@router.get("/artifact/{name}/raw")
def artifact_raw(registry: RegistryDep, project: ProjectDep, task: TaskNumber, name: Name) -> Response:
    return PlainTextResponse(read_artifact_text(registry.home, registry.store.task(project.key, task), name))


def _pieces(found: Output) -> Iterator[str]:
    at = 0
    while True:
        some = piece(found, at)
        if some.next == at:
            return
        at = some.next
        yield some.text


def _plain(name: str) -> str:
    return "".join(char if char.isascii() and (char.isalnum() or char in "-.") else "-" for char in name)


# -- fragments ------------------------------------------------------------------------------------
# The parts of a task's page and their data.

PLAN = "plan.md"


@dataclass(frozen=True)
class PageContext:
    """The data that parts are rendered from."""

    registry: ProjectRegistry
    project: ProjectRow
    head: TaskHead
    # what of the change is shown
    diff_view: DiffView = WHOLE

    @property
    def task(self) -> Task:
        return self.head.task

    @cached_property
    def app(self) -> App:
        """Opened on first use: only some parts need git or the settings."""
        return self.registry.open(self.project.key)


def page_context(registry: ProjectRegistry, project: ProjectRow, task: int, view: DiffView = WHOLE) -> PageContext:
    conflict = registry.conflict(project, task)
    head = head_of(registry.store, project.key, task, registry.holders(), conflict)
    return PageContext(registry, project, head, view)


def part(name: str, context: PageContext) -> str:
    """One part as HTML. An error is shown in its place; the rest of the page stays usable."""
    view: dict[str, Any] = {"project": context.project, "head": context.head, "task": context.task, "trouble": None}
    try:
        view |= PARTS[name](context)
    except BurnishError as error:
        view["trouble"] = error
    return render(f"task/{name}.html.j2", **view)


def _head(context: PageContext) -> dict[str, Any]:
    places = secret_places(context.task)
    if not places:
        return {"secrets": []}
    try:
        lines = [masked_line(context.app, context.task, path, number) for path, number, _ in places]
    except BurnishError:
        lines = [""] * len(places)
    return {"secrets": [(*place, line) for place, line in zip(places, lines, strict=True)]}


def _gate(context: PageContext) -> dict[str, Any]:
    view: dict[str, Any] = {"standing": None, "questions": QUESTIONS}
    view["drafts"] = own_draft(context.registry.home, context.task).comments
    if context.task.status is Status.WAITING_APPROVAL:
        view["standing"] = decision_view(context.app, context.task.id)
        view["plan"] = _plan(context) if context.task.spec.type is TaskType.PLAN else None
    return view


def _plan(context: PageContext) -> Read | None:
    """The plan to approve."""
    try:
        return read(PLAN, artifact_bytes(context.app, context.task.id, PLAN).decode(errors="replace"))
    except NotFound:
        return None


def _story(context: PageContext) -> dict[str, Any]:
    registry, task = context.registry, context.task
    return {
        "story": story(registry.store, context.project.key, task.id, running=context.head.running),
        "live": live_call(registry.home, task, 6) if context.head.running else None,
    }


def _findings(context: PageContext) -> dict[str, Any]:
    return {"findings": findings_view(context.registry.store, context.project.key, context.task.id)}


def _checks(context: PageContext) -> dict[str, Any]:
    try:
        tree = base_tree(context.app, context.task)
    except BurnishError:
        tree = ""  # the checks are on record; only what they are compared with is out of reach
    return {"checks": checks_view(context.registry.store, context.project.key, context.task.id, tree=tree)}


def _changes(context: PageContext) -> dict[str, Any]:
    if not context.task.branch or not context.task.base:
        return {"diff": None}
    return diff_of(context.app, context.task, context.diff_view)


def _log(context: PageContext) -> dict[str, Any]:
    found = outputs(context.registry.home, context.task)
    return {"outputs": [one for one in reversed(found) if not one.is_prompt]}


def _artifacts(context: PageContext) -> dict[str, Any]:
    prompts = [one for one in outputs(context.registry.home, context.task) if one.is_prompt]
    return {"artifacts": list_artifacts(context.registry.home, context.task), "prompts": prompts}


PARTS: dict[str, Callable[[PageContext], dict[str, Any]]] = {
    "head": _head,
    "gate": _gate,
    "story": _story,
    "findings": _findings,
    "checks": _checks,
    "changes": _changes,
    "log": _log,
    "artifacts": _artifacts,
}
# parts that come with the page; the others are fetched when their tab is opened
AT_ONCE = ("head", "gate", "story", "findings", "checks")


# -- artifacts ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Read:
    """An artifact: front matter, and the body as HTML; `html` is empty if the text is shown unrendered."""

    front: str
    html: Markup
    text: str


def read(name: str, text: str) -> Read:
    text = clean_text(text)
    if not name.endswith(".md") or len(text) > MAX_ARTIFACT_LENGTH:
        return Read("", Markup(""), text)
    front, body = _split(text)
    return Read(front, artifact_html(body), text)


def _split(text: str) -> tuple[str, str]:
    if not text.startswith("---\n"):
        return "", text
    front, found, body = text[4:].partition("\n---\n")
    return (front, body) if found else ("", text)
