"""The page of one task, its parts, and what its agents and checks printed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse, StreamingResponse
from markupsafe import Markup

from burnish.core.override import QUESTIONS
from burnish.errors import NotFound
from burnish.features.server.task_output import Output, output, paper, piece
from burnish.web.deps import ProjectDep, RegistryDep, TaskNumber
from burnish.web.pages.fragments import AT_ONCE, PARTS, PageContext, part, sight
from burnish.web.pages.rendering import fragment, page
from burnish.web.pages.task_markdown import read

router = APIRouter(prefix="/p/{project}/t/{task}", include_in_schema=False)

Name = Annotated[str, Path(max_length=300)]
# where a tab begins, by status: what a person comes for
_OPENS = {"waiting_approval": "changes", "verified": "changes", "blocked": "findings"}


def _opens(seen: PageContext) -> str:
    """The tab to begin with: a plan has no changes, and a task may be blocked without a finding."""
    task = seen.task
    tab = _OPENS.get(task.status.value, "story")
    empty = (tab == "changes" and task.commit in (None, task.base)) or (tab == "findings" and not task.open_findings)
    return "story" if empty else tab


@router.get("")
def show(request: Request, registry: RegistryDep, project: ProjectDep, task: TaskNumber) -> Response:
    # before the data: what happens in between is told again, and nothing is missed
    since = registry.store.last_event(project.key)
    seen = sight(registry, project, task)
    return page(
        request,
        "task.html.j2",
        title=f"T{task} {seen.task.spec.title}",
        here="task",
        project=project,
        task=seen.task,
        head=seen.head,
        since=since,
        parts={name: Markup(part(name, seen)) for name in AT_ONCE},
        opens=_opens(seen),
        questions=QUESTIONS,
    )


@router.get("/parts")
def parts(
    registry: RegistryDep,
    project: ProjectDep,
    task: TaskNumber,
    names: Annotated[str, Query(max_length=200)],
    since_review: bool = False,
) -> Response:
    """Several parts as they are now, one after the other."""
    wanted = names.split(",")
    if any(name not in PARTS for name in wanted):
        raise NotFound("There is no such part of this page.", hint=f"The parts are: {', '.join(PARTS)}.")
    seen = sight(registry, project, task, since_review=since_review)
    return HTMLResponse("\n".join(part(name, seen) for name in wanted))


@router.get("/output/{name}")
def printed(
    registry: RegistryDep,
    project: ProjectDep,
    task: TaskNumber,
    name: Name,
    offset: Annotated[int, Query(ge=-1, le=2**50)] = 0,
) -> dict[str, Any]:
    """Some of it, from `offset` on; -1 begins near the end."""
    found = piece(output(registry.home, registry.store.task(project.key, task), name), offset)
    return {"text": found.text, "start": found.offset, "next": found.next, "size": found.size}


@router.get("/output/{name}/raw")
def whole(registry: RegistryDep, project: ProjectDep, task: TaskNumber, name: Name) -> Response:
    """All of it, as a file to keep: without controls and secrets, as on the page."""
    found = output(registry.home, registry.store.task(project.key, task), name)
    headers = {"Content-Disposition": f'attachment; filename="task-{task}-{_plain(name)}.txt"'}
    return StreamingResponse(_pieces(found), media_type="text/plain; charset=utf-8", headers=headers)


@router.get("/artifact/{name}")
def artifact(registry: RegistryDep, project: ProjectDep, task: TaskNumber, name: Name) -> Response:
    text = paper(registry.home, registry.store.task(project.key, task), name)
    return fragment("task/artifact.html.j2", name=name, read=read(name, text))


@router.get("/artifact/{name}/raw")
def artifact_raw(registry: RegistryDep, project: ProjectDep, task: TaskNumber, name: Name) -> Response:
    return PlainTextResponse(paper(registry.home, registry.store.task(project.key, task), name))


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
