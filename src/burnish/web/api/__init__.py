"""`/api/v1`: the API for programs and for the pages, with everything that the command line can do."""

from __future__ import annotations

from fastapi import APIRouter


def routers() -> tuple[APIRouter, ...]:
    from burnish.web.api import (
        all_projects,
        code_review,
        decisions,
        export,
        external_review,
        findings,
        images,
        merges,
        people,
        person_review,
        project,
        prompts,
        runs,
        stats,
        tasks,
        trail,
    )

    modules = (
        tasks,
        runs,
        decisions,
        findings,
        merges,
        external_review,
        person_review,
        trail,
        export,
        images,
        project,
        prompts,
        stats,
        all_projects,
        people,
        code_review,
    )
    return (decisions.answers, *(module.router for module in modules))
