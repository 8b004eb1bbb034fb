"""`/api/v1`: everything that the command line does, for programs and for our own pages."""

from __future__ import annotations

from fastapi import APIRouter


def routers() -> tuple[APIRouter, ...]:
    from burnish.web.api import decisions, findings, merges, runs, tasks

    return tuple(noun.router for noun in (tasks, runs, decisions, findings, merges))
