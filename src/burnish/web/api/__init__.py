"""`/api/v1`: everything that the command line does, for programs and for our own pages."""

from __future__ import annotations

from fastapi import APIRouter


def routers() -> tuple[APIRouter, ...]:
    from burnish.web.api import tasks

    return (tasks.router,)
