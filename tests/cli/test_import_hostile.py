"""burnish import of files that a stranger wrote: it ends soon, and touches nothing beside them."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from pathlib import Path

import pytest

from testing.attack_counts import CountAttacks
from tests.cli.conftest import Person

KIND = "files that are imported"
TABLE = "CREATE TABLE tasks (id, prompt, status, task_type, created_at, project_id)"
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"


def gza(person: Person, *statements: str) -> Path:
    place = person.repo.path / ".gza" / "gza.db"
    place.parent.mkdir()
    with sqlite3.connect(place) as database:
        for statement in (TABLE, "INSERT INTO tasks VALUES (1, 'Sell bread', 'pending', 'task', 1, 1)", *statements):
            database.execute(statement)
    database.close()
    return place


@pytest.mark.attacks(KIND, 1)
def test_a_pipe_in_place_of_a_database_is_refused(person: Person) -> None:
    place = person.repo.path / ".gza" / "gza.db"
    place.parent.mkdir()
    os.mkfifo(place)
    person.types("import", ".", code=2)
    assert "not a file that can be read" in person.err


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_what_lies_beside_a_database_is_neither_waited_for_nor_followed_nor_written(
    suffix: str, person: Person, tmp_path: Path, count_attacks: CountAttacks
) -> None:
    place, victim = gza(person), tmp_path / "victim"
    beside = place.with_name(place.name + suffix)
    os.mkfifo(beside)
    assert "added as task 1" in person.types("import", ".")
    beside.unlink()
    beside.symlink_to(victim)
    before = sorted(place.parent.iterdir())
    person.types("import", ".")
    written = victim.exists() or sorted(place.parent.iterdir()) != before
    count_attacks(KIND, 2, int(written))
    assert not written


def test_work_in_the_log_of_a_database_is_read_and_its_folder_is_not_changed(person: Person) -> None:
    place = gza(person)
    database = sqlite3.connect(place)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("INSERT INTO tasks VALUES (2, 'Sell butter', 'pending', 'task', 2, 1)")
    database.commit()
    before = {path.name: path.read_bytes() for path in place.parent.iterdir() if not path.name.endswith("-shm")}
    assert "Sell butter" in person.types("import", ".")
    assert {path.name: path.read_bytes() for path in place.parent.iterdir() if path.name in before} == before
    database.close()


@pytest.mark.attacks(KIND, 2)
@pytest.mark.parametrize("statement", ["UPDATE tasks SET id = 0", "CREATE TABLE projects (name)"])
def test_a_row_without_a_number_does_not_stop_the_import(statement: str, person: Person) -> None:
    gza(person, statement)
    assert "Sell bread" in person.types("import", ".")


@pytest.mark.attacks(KIND, 1)
def test_all_databases_of_an_import_share_one_limit_of_time(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("burnish.features.import_tasks.databases._QUERY_SECONDS", 0.5)
    for number in range(20):
        folder = person.repo.path / "spec" / "changes" / f"c{number}"
        folder.mkdir(parents=True)
        (folder / "tasks.md").write_text(f"# Tasks\n\n### A-{number}: Sell bread\nP1 | TODO\n")
        with sqlite3.connect(folder / ".executor-state.db") as database:
            # ends by itself after most of the time
            database.execute(f"CREATE VIEW tasks AS {ENDLESS} SELECT x AS task_id, 1 AS status FROM c LIMIT 400000")
    start = time.monotonic()
    person.types("import", ".", code=2)
    assert "cannot be read" in person.err
    assert time.monotonic() - start < 15


@pytest.mark.attacks(KIND, 2)
@pytest.mark.parametrize("target", ["/", "/proc"])
def test_a_linked_folder_of_requirements_is_not_searched(target: str, person: Person) -> None:
    change = person.repo.path / "openspec" / "changes" / "bread"
    change.mkdir(parents=True)
    (change / "tasks.md").write_text("## 1. Shop\n- [ ] 1.1 Sell bread\n")
    (change / "specs").symlink_to(target)
    start = time.monotonic()
    assert "added as task 1" in person.types("import", ".")
    assert time.monotonic() - start < 10


def test_requirements_in_folders_are_read(person: Person) -> None:
    change = person.repo.path / "openspec" / "changes" / "bread"
    (change / "specs" / "shop").mkdir(parents=True)
    (change / "tasks.md").write_text("## 1. Shop\n- [ ] 1.1 Sell bread\n")
    (change / "specs" / "shop" / "spec.md").write_text("A loaf costs 3.\n")
    person.types("import", ".")
    assert "A loaf costs 3." in person.types("show", "1", "--json")


@pytest.mark.attacks(KIND, 4)
@pytest.mark.parametrize("cycles", ["0", "-5", "1001", "1" + "0" * 40])
def test_a_number_of_cycles_that_cannot_be_is_refused(cycles: str, person: Person) -> None:
    (person.repo.path / "tasks.yaml").write_text(f"tasks:\n- {{title: Sell bread, max_cycles: {cycles}}}\n")
    person.types("import", "tasks.yaml", code=2)
    assert "Use 1 to 1000" in person.err
    person.types("add", "Sell bread", f"--max-cycles={cycles}", code=2)


def test_what_a_source_switches_off_is_printed(person: Person) -> None:
    (person.repo.path / "tasks.yaml").write_text(
        "tasks:\n- {title: Sell bread, skip_tests: true, auto_review: false}\n- {title: Sell butter}\n"
    )
    first, second = person.types("import", "tasks.yaml").splitlines()[:2]
    assert "added as task 1; its tests are not run, it is not reviewed" in first
    assert second.endswith("(added as task 2)")


@pytest.mark.attacks(KIND, 2)
@pytest.mark.parametrize("pointer", ["", "feedback://shop/WP01/a.md"])
def test_a_review_of_megabytes_is_refused_by_name(pointer: str, person: Person) -> None:
    mission = person.repo.path / "kitty-specs" / "shop"
    (mission / "tasks" / "WP01-bread").mkdir(parents=True)
    (mission / "tasks" / "WP01-bread.md").write_text("---\nwork_package_id: WP01\ntitle: Sell bread\n---\nBread.\n")
    place = mission / "tasks" / "WP01-bread" / "review-cycle-1.md"
    if pointer:
        event = {"wp_id": "WP01", "to_lane": "planned", "review_ref": pointer}
        (mission / "status.events.jsonl").write_text(json.dumps(event))
        place = person.repo.path / ".git" / "spec-kitty" / "feedback" / "shop" / "WP01" / "a.md"
        place.parent.mkdir(parents=True)
    place.write_text("- [ ] stale bread\n" * 20_000)
    person.types("import", ".", code=2)
    assert f"{place.name} has more than 256 kB." in person.err


def test_a_line_separator_within_an_event_of_a_mission_does_not_cut_it(person: Person) -> None:
    mission = person.repo.path / "kitty-specs" / "shop"
    (mission / "tasks").mkdir(parents=True)
    (mission / "tasks" / "WP01-bread.md").write_text("---\nwork_package_id: WP01\ntitle: Sell bread\n---\nBread.\n")
    event = {"wp_id": "WP01", "to_lane": "done", "reason": "baked\u2028and sold"}
    (mission / "status.events.jsonl").write_text(json.dumps(event, ensure_ascii=False))
    person.types("import", ".")
    assert person.asks("list")["tasks"] == []
