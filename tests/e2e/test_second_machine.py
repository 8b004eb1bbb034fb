"""A second machine joins: its clone finds the tasks of the first, in whatever order the two come to the remote."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from testing.machines import Machine, Machines
from testing.postgresql import postgresql_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    with postgresql_server().database() as url:
        yield Machines.make(tmp_path, url)


def with_task_in_sqlite(machines: Machines) -> Machine:
    """As a laptop before it has a database server."""
    laptop = machines.add("a", has_database=False)
    laptop.burnish("add", "Add division")
    return laptop


def test_a_second_machine_finds_the_tasks_right_after_they_were_moved_to_postgresql(machines: Machines) -> None:
    laptop = with_task_in_sqlite(machines)
    laptop.burnish("store", "move", "--to", machines.url)
    laptop.lab.user_settings(f"database: {machines.url}\n")
    assert machines.add("b").status() == laptop.status() == "backlog"


def test_the_empty_project_of_a_machine_that_came_first_gives_way_to_the_one_with_tasks(machines: Machines) -> None:
    laptop = with_task_in_sqlite(machines)
    machines.remote.rename(away := machines.remote.with_name("away.git"))
    moved = laptop.burnish("store", "move", "--to", machines.url)
    assert "could not be reached" in moved.out and "after the next command" in moved.out
    laptop.lab.user_settings(f"database: {machines.url}\n")
    away.rename(machines.remote)
    second = machines.add("b")
    second.burnish("run", code=None)
    assert not second.tasks() and "refs/burnish/shared/id" in machines.on_remote()

    laptop.burnish("edit", "1", "--priority", "2")
    assert second.status() == laptop.status() == "backlog"
    assert len(laptop.burnish("projects", "--json").json["projects"]) == 1


def test_an_empty_project_joins_the_one_that_the_remote_has_meanwhile(machines: Machines) -> None:
    laptop = with_task_in_sqlite(machines)
    laptop.burnish("store", "move", "--to", machines.url)
    laptop.lab.user_settings(f"database: {machines.url}\n")
    second = machines.add("b", has_database=False)
    url = second.lab.repo.git("remote", "get-url", "origin").strip()
    second.lab.repo.git("remote", "remove", "origin")
    second.lab.user_settings(f"database: {machines.url}\n")
    second.burnish("run", code=None)
    assert not second.tasks()
    second.lab.repo.git("remote", "add", "origin", url)
    assert second.status() == "backlog"
    assert len(laptop.burnish("projects", "--json").json["projects"]) == 1


def test_a_remote_that_another_database_uses_is_named_with_a_way_out(machines: Machines) -> None:
    first = machines.add("a")
    first.burnish("add", "Add division")
    with postgresql_server().database() as other:
        stranger = machines.add("b", has_database=False)
        stranger.lab.user_settings(f"database: {other}\n")
        stranger.burnish("trust")
        said = stranger.burnish("add", "Another task")
    assert "used with another database" in said.err and "machine: {remote: NAME}" in said.err
