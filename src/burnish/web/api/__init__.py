"""`/api/v1`: everything that the command line does, for programs and for our own pages."""

from __future__ import annotations

from fastapi import APIRouter


def routers() -> tuple[APIRouter, ...]:
    from burnish.web.api import (
        code_review,
        decisions,
        everything,
        findings,
        merges,
        project,
        prompts,
        runs,
        stats,
        tasks,
        trail,
    )
    from burnish.web.api import external_review as outside

    nouns = (
        tasks,
        runs,
        decisions,
        findings,
        merges,
        outside,
        trail,
        project,
        prompts,
        stats,
        everything,
        code_review,
    )
    return tuple(noun.router for noun in nouns)
