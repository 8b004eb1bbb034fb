"""HTML pages, and the parts of pages that scripts fetch again after a change."""

from __future__ import annotations

from fastapi import APIRouter


def routers() -> tuple[APIRouter, ...]:
    from burnish.web.pages import audit, board, diff, home, inbox, prompts, settings, stats, task, task_list

    return (
        home.router,
        # before the board: /p/{project}/list
        task_list.router,
        board.router,
        task.router,
        diff.router,
        stats.router,
        inbox.router,
        prompts.router,
        settings.router,
        audit.router,
    )
