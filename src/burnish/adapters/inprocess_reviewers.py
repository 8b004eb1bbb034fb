"""Reviewers that are programs of our own: `static` answers without being asked over a pipe."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from burnish.adapters.sandbox import OPEN, SandboxPolicy
from burnish.agents.base import AgentSettings
from burnish.checks.environment import check_environment
from burnish.core.review import Review
from burnish.engine.ports import StaticReviewRequest
from burnish.git.project import Project
from burnish.git.reading import Contents, list_files

if TYPE_CHECKING:
    from burnish.proc.run import StopToken


def inprocess_reviewers(
    project: Project, agents: Mapping[str, AgentSettings], stop: StopToken, confinement: SandboxPolicy = OPEN
) -> Callable[[StaticReviewRequest], Review | None]:
    def inspect(wanted: StaticReviewRequest) -> Review | None:
        known = agents.get(wanted.agent)
        if (known.kind if known else wanted.agent) != "static":
            return None
        return _static(project, wanted, stop, confinement)

    return inspect


def _static(project: Project, wanted: StaticReviewRequest, stop: StopToken, confinement: SandboxPolicy) -> Review:
    from burnish.adapters.static_reviewer import static_review

    files = wanted.change.files
    before = Contents(project, wanted.base, [file.old_path or file.path for file in files])
    # settings files are looked for in every folder: most are not there, and asking git for each takes long
    there = set(list_files(project, wanted.base))

    def base_text(path: str) -> str | None:
        data = before.get(path) if path in there else None
        return None if data is None else data.decode(errors="replace")

    return static_review(
        wanted.change,
        files=wanted.files,
        out_dir=wanted.out_dir,
        checkout=project.root,
        base_text=base_text,
        new_text=Contents(project, wanted.commit, list(wanted.change.paths)).get,
        env=check_environment(os.environ, places=(project.root,)),
        comparisons=wanted.comparisons,
        test=wanted.test,
        stop=stop,
        confinement=confinement,
    )
