"""Audit trail of a task: diff, workspace, logs, artifacts, prompts."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query
from fastapi.responses import PlainTextResponse, Response

from burnish.adapters.redaction import secrets_from_environment
from burnish.checks.evidence import TYPES
from burnish.features.server.task_output import (
    list_artifacts,
    output,
    outputs,
    piece,
    read_artifact_bytes,
    read_evidence,
)
from burnish.features.server.task_output import transcript as transcript_of
from burnish.features.tasks.inspect import artifact, diff_text, workspace_path
from burnish.runtime.requests import LogFile
from burnish.web.api.schemas import ApiModel
from burnish.web.deps import AppDep, ProjectDep, RegistryDep, TaskNumber
from burnish.web.problems import PROBLEMS

router = APIRouter(prefix="/api/v1/projects/{project}/tasks/{task}", tags=["trail"], responses=PROBLEMS)

# a path parameter, because names may contain slashes
FileName = Annotated[str, Path(max_length=300, description="Name from the list.")]
_NOTHING_LOADED = "default-src 'none'; img-src data:; media-src 'self'; style-src 'unsafe-inline'"
From = Annotated[int, Query(ge=0, le=2**62)]
TEXT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}


class PathOut(ApiModel):
    id: str
    path: str


class LogOut(ApiModel):
    name: str
    run: int
    cycle: int
    phase: str
    attempt: int
    kind: str
    path: str
    bytes: int


class LogsOut(ApiModel):
    logs: list[LogOut]


class ChunkOut(ApiModel):
    """Whole lines. Pass `next` as offset to get more, until it equals `size`."""

    text: str
    offset: int
    next: int
    size: int


class TranscriptRowOut(ApiModel):
    number: int
    run: int
    cycle: int
    phase: str
    attempt: int
    # None for the author
    reviewer: str | None
    kind: str
    text: str
    # the lines that an edit changed, or the end of the output of a command
    detail: str = ""
    exit_code: int | None = None
    failed: bool = False
    cost_usd: float | None = None


class TranscriptOut(ApiModel):
    """Pass the number of the last row as `since` to get the rows after it."""

    rows: list[TranscriptRowOut]


class ArtifactOut(ApiModel):
    name: str
    bytes: int
    ref: str


class ArtifactsOut(ApiModel):
    artifacts: list[ArtifactOut]


class SentOut(ApiModel):
    run: int
    cycle: int
    phase: str
    attempt: int
    kind: str
    text: str


class PromptsOut(ApiModel):
    id: str
    prompts: list[SentOut]


@router.get("/diff", response_class=PlainTextResponse, responses=TEXT)
def diff(
    app: AppDep,
    task: TaskNumber,
    since_review: Annotated[bool, Query(description="Only changes since the last review.")] = False,
) -> PlainTextResponse:
    """Like `burnish diff`: from the base to the newest commit."""
    return PlainTextResponse(diff_text(app, task, since_review=since_review))


@router.get("/path", response_model=PathOut)
def path(app: AppDep, task: TaskNumber) -> dict[str, Any]:
    """Like `burnish path`: where the workspace is."""
    return {"id": str(task), "path": str(workspace_path(app, task))}


@router.get("/logs", response_model=LogsOut)
def logs(registry: RegistryDep, project: ProjectDep, task: TaskNumber) -> dict[str, Any]:
    """Like `burnish log --json`, oldest first."""
    return {"logs": [one.file.as_json() for one in outputs(registry.home, registry.store.task(project.key, task))]}


@router.get("/logs/{name:path}", response_model=ChunkOut)
def log(registry: RegistryDep, project: ProjectDep, task: TaskNumber, name: FileName, offset: From = 0) -> Any:
    """Like `burnish log`, from an offset."""
    return piece(output(registry.home, registry.store.task(project.key, task), name), offset)


@router.get("/transcript", response_model=TranscriptOut)
def transcript(registry: RegistryDep, project: ProjectDep, task: TaskNumber, since: From = 0) -> dict[str, Any]:
    """What agents said and did, oldest first."""
    rows = transcript_of(registry.home, registry.store.task(project.key, task), since)
    return {"rows": [row.as_json() for row in rows]}


@router.get("/artifacts", response_model=ArtifactsOut)
def artifacts(registry: RegistryDep, project: ProjectDep, task: TaskNumber) -> dict[str, Any]:
    """The files of the audit trail."""
    found = list_artifacts(registry.home, registry.store.task(project.key, task))
    return {"artifacts": [{"name": o.name, "bytes": o.size, "ref": f"review-cycle://{task}/{o.name}"} for o in found]}


@router.get("/artifacts/{name:path}", response_class=PlainTextResponse, responses=TEXT)
def read_artifact(registry: RegistryDep, project: ProjectDep, task: TaskNumber, name: FileName) -> PlainTextResponse:
    """Like `burnish show review-cycle://TASK/NAME`."""
    content = read_artifact_bytes(registry.home, registry.store.task(project.key, task), name)
    # files that are missing in the home are read from the repository
    return PlainTextResponse(artifact(registry.open(project.key), task, name) if content is None else content)


@router.get("/evidence/{name}", response_class=Response)
def evidence(
    registry: RegistryDep,
    project: ProjectDep,
    task: TaskNumber,
    name: Annotated[str, Path(max_length=80)],
    range_header: Annotated[
        str, Header(alias="Range", max_length=200, description="One range of bytes: a player seeks with it.")
    ] = "",
) -> Response:
    """A screenshot, video or HTML file that a check left (`evidence` of a check in `GET …/tasks/{task}`)."""
    data = read_evidence(registry.home, registry.store.task(project.key, task), name)
    headers = {
        # written by code under test: no script runs, nothing is loaded, and it has no origin
        "Content-Security-Policy": f"{_NOTHING_LOADED}; sandbox",
        "Content-Disposition": f'inline; filename="{name}"',
        "Cache-Control": "private, max-age=31536000, immutable",
        "Accept-Ranges": "bytes",
    }
    kind = TYPES[name.rpartition(".")[2]]
    part = _byte_range(range_header, len(data))
    if part is None:
        return Response(data, media_type=kind, headers=headers)
    if not part:
        return Response(status_code=416, headers={**headers, "Content-Range": f"bytes */{len(data)}"})
    headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{len(data)}"
    return Response(data[part.start : part.stop], status_code=206, media_type=kind, headers=headers)


def _byte_range(header: str, size: int) -> range | None:
    """The bytes that a `Range` header asks for; None: all, since it has none, several or a form that is not known."""
    found = re.fullmatch(r"bytes=([0-9]{0,18})-([0-9]{0,18})", header.strip())
    if not found or not (found[1] or found[2]):
        return None
    if not found[1]:
        return range(max(0, size - int(found[2])), size)
    if found[2] and int(found[2]) < int(found[1]):
        return None
    return range(int(found[1]), min(int(found[2]) + 1, size) if found[2] else size)


@router.get("/prompts", response_model=PromptsOut)
def prompts(registry: RegistryDep, project: ProjectDep, task: TaskNumber) -> dict[str, Any]:
    """The exact prompts that agents got, oldest first."""
    found = outputs(registry.home, registry.store.task(project.key, task))
    return {"id": str(task), "prompts": [_sent(one.file) for one in found if one.is_prompt]}


def _sent(file: LogFile) -> dict[str, Any]:
    text = secrets_from_environment().redact(file.path.read_bytes().decode("utf-8", "replace"))
    facts = {"run": file.run, "cycle": file.cycle, "phase": file.phase, "attempt": file.attempt, "kind": file.kind}
    return {**facts, "text": text}
