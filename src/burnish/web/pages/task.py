"""The page of a task, its parts, and the output of its agents and checks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse, StreamingResponse
from markupsafe import Markup

from burnish.core.override import QUESTIONS
from burnish.errors import NotFound
from burnish.features.server.task_output import Output, output, piece, read_artifact_text
from burnish.web.deps import ProjectDep, RegistryDep, TaskNumber
from burnish.web.pages.fragments import AT_ONCE, PARTS, PageContext, page_context, part
from burnish.web.pages.rendering import fragment, page
from burnish.web.pages.task_markdown import read

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
    since_review: bool = False,
) -> Response:
    """The current HTML of several parts."""
    part_names = names.split(",")
    if any(name not in PARTS for name in part_names):
        raise NotFound("Unknown part of the page.", hint=f"The parts are: {', '.join(PARTS)}.")
    context = page_context(registry, project, task, since_review=since_review)
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
    found = piece(output(registry.home, registry.store.task(project.key, task), name), offset)
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
