"""Reviewers that run inside the burnish process: `static`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from burnish.adapters.sandbox import OPEN, SandboxPolicy
from burnish.agents.base import AgentSettings
from burnish.checks.environment import check_environment
from burnish.core.review import Review
from burnish.engine.ports import StaticReviewRequest
from burnish.git.objects import Contents, list_files
from burnish.git.project import Project

if TYPE_CHECKING:
    from burnish.proc.run import StopToken


def inprocess_reviewers(
    project: Project, agents: Mapping[str, AgentSettings], stop: StopToken, confinement: SandboxPolicy = OPEN
) -> Callable[[StaticReviewRequest], Review | None]:
    def inspect(request: StaticReviewRequest) -> Review | None:
        settings = agents.get(request.agent)
        if (settings.kind if settings else request.agent) != "static":
            return None
        return _static(project, request, stop, confinement)

    return inspect


def _static(project: Project, request: StaticReviewRequest, stop: StopToken, confinement: SandboxPolicy) -> Review:
    from burnish.adapters.static_reviewer import static_review

    files = request.change.files
    before = Contents(project, request.base, [file.old_path or file.path for file in files])
    # Settings files are looked up in every folder; most do not exist, and a git call for each is slow.
    base_paths = set(list_files(project, request.base))

    def base_text(path: str) -> str | None:
        data = before.get(path) if path in base_paths else None
        return None if data is None else data.decode(errors="replace")

    return static_review(
        request.change,
        files=request.files,
        out_dir=request.out_dir,
        checkout=project.root,
        base_text=base_text,
        new_text=Contents(project, request.commit, list(request.change.paths)).get,
        env=check_environment(os.environ, roots=(project.root,)),
        comparisons=request.comparisons,
        test=request.test,
        stop=stop,
        confinement=confinement,
    )
