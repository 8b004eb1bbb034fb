"""Converts rows of projects and tasks to core types, and core types to column values."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

from burnish.core.codec import encode
from burnish.core.status import ErrorCode, FinalVerdict, Reason, ReviewStatus, Status
from burnish.core.task import Item, Spec, Task, TaskType
from burnish.store.database import ResultRow
from burnish.store.trouble import damaged

P = ParamSpec("P")
T = TypeVar("T")

# long texts that a list of tasks does not show
_LONG = ("description", "scope", "criteria", "checklist", "plan")


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """A git repository known to burnish; all its checkouts share it."""

    key: str
    root: Path
    common_dir: Path
    name: str
    created_at: str
    # identifies the repository after a move; "" if it has none yet
    repository_id: str = ""
    # another project is at its path now, and its new path is not known
    is_detached: bool = False
    # its paths are those of another machine that shares the database; this one has no checkout yet
    is_elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class TaskTotal:
    """Number of tasks with this status, reason and source of cost, and their total usage."""

    status: Status
    reason: Reason | None
    cost_source: str | None
    tasks: int
    # None: the cost of every one of them is unknown
    cost_usd: float | None
    tokens: int


class TaskBranch(NamedTuple):
    """The branch of a task, if it has a commit."""

    id: int
    branch: str
    commit: str
    reason: str | None


def to_json(value: Any) -> str:
    # ASCII only: paths that are not UTF-8 survive as escaped surrogates, which SQLite rejects as text
    return json.dumps(encode(value), separators=(",", ":"))


def brief_spec(spec: Mapping[str, Any]) -> str:
    """The spec as JSON, without the long texts."""
    return to_json({key: value for key, value in spec.items() if key not in _LONG})


def reports_damage(read: Callable[P, T]) -> Callable[P, T]:
    """Decorates a function that reads a row: an error in it is reported as a damaged database."""

    @wraps(read)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return read(*args, **kwargs)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise damaged("burnish.db", f"{type(error).__name__}: {error}") from error

    return wrapper


def spec_of(text: str) -> Spec:
    # not by the codec, which is slower: a list reads a thousand of these
    data = json.loads(text)
    data["type"] = TaskType(data["type"])
    data["depends_on"] = tuple(data["depends_on"])
    # a task of an earlier version has none
    data["tags"] = tuple(data.get("tags", ()))
    data["needs"] = tuple(data.get("needs", ()))
    if "criteria" in data:
        data["criteria"] = tuple(data["criteria"])
        data["checklist"] = tuple(Item(**item) for item in data["checklist"])
    return Spec(**data)


@reports_damage
def task_of(row: ResultRow, *, brief: bool = False) -> Task:
    return Task(
        project=row["project"],
        id=row["id"],
        spec=spec_of(row["head" if brief else "spec"]),
        status=Status(row["status"]),
        reason=Reason(row["reason"]) if row["reason"] else None,
        error=ErrorCode(row["error"]) if row["error"] else None,
        note=row["note"],
        final_verdict=FinalVerdict(row["final_verdict"]) if row["final_verdict"] else None,
        run=row["run"],
        cycle=row["cycle"],
        max_cycles=row["max_cycles"],
        auto_review=bool(row["auto_review"]),
        review_status=ReviewStatus(row["review_status"]) if row["review_status"] else None,
        phase=row["phase"],
        phase_started=row["phase_started"],
        branch=row["branch"],
        target=row["target"],
        base=row["base"],
        commit=row["commit_sha"],
        open_findings=row["open_findings"],
        cost_usd=row["cost_usd"],
        cost_source=row["cost_source"],
        tokens=row["tokens"],
        overrides=row["overrides"],
        waits_for=row["waits_for"],
        issues_fixed=row["issues_fixed"],
        runner=row["runner"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        agent=row["agent"],
        model=row["model"],
    )


@reports_damage
def total_of(row: ResultRow) -> TaskTotal:
    return TaskTotal(
        status=Status(row["status"]),
        reason=Reason(row["reason"]) if row["reason"] else None,
        cost_source=row["cost_source"],
        tasks=row["tasks"],
        cost_usd=row["cost_usd"],
        tokens=row["tokens"],
    )


@reports_damage
def project_of(row: ResultRow) -> ProjectRow:
    info = json.loads(row["info"])
    return ProjectRow(
        row["key"],
        Path(info["root"]),
        Path(info["common_dir"]),
        info["name"],
        row["created_at"],
        row["repository_id"],
        row["dir_hash"].startswith("detached:"),
    )
