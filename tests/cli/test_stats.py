"""`burnish stats` and `burnish cost` as a person and as a program read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import Lab
from testing.tales import Teller, lay_branches


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab.make(tmp_path / "lab")


def tell(lab: Lab, tasks: int = 12) -> None:
    teller = Teller.at(Path(lab.env["BURNISH_HOME"]), lab.repo.path)
    teller.store._db._connection().execute("PRAGMA synchronous = OFF")
    teller.years(tasks, titles=["Add \x1b[31mdivision\u202e"])
    teller.store.close()
    lay_branches(lab.repo, tasks)


def test_before_anything_was_run_they_say_what_to_do(lab: Lab) -> None:
    for verb in ("stats", "cost"):
        assert "burnish run" in lab.burnish(verb).out
        assert lab.burnish(verb, "--json").json["total"]["calls"] == 0
    assert "since" in lab.burnish("stats", "--days", "7").out


@pytest.mark.slow
def test_a_real_run_is_counted(lab: Lab) -> None:
    lab.add()
    lab.burnish("run")
    found = lab.burnish("stats", "--json").json
    assert (found["runs"]["approved"], found["runs"]["success_rate"]) == (1, 1.0)
    assert found["cycles_to_approval"]["by_burnish"] == {"2": 1}
    assert found["findings"]["by_category"] == {"code": {"error": 1, "warning": 0, "info": 0}}
    (judge,) = found["reviewers"]
    assert (judge["name"], judge["reviews"], judge["findings"]["precision"]) == ("judge", 2, 1.0)
    calls = {line["agent"]: line["calls"] for line in lab.burnish("cost", "--json").json["by_agent"]}
    assert calls == {"robot": 2, "judge": 2}


def test_a_page_fits_eighty_columns_and_obeys_no_title(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    tell(lab)
    monkeypatch.setenv("COLUMNS", "80")
    for verb in ("stats", "cost"):
        said = lab.burnish(verb).out
        assert max(map(len, said.splitlines())) <= 80, said
        assert "\x1b" not in said and "\u202e" not in said
    assert "█" in lab.burnish("stats").out
    assert "█" not in lab.burnish("stats", "--plain").out


def test_every_project_is_counted_from_anywhere_and_a_window_is_kept_to(lab: Lab) -> None:
    tell(lab)
    everything = lab.burnish("cost", "--all", "--json").json
    assert everything["total"] == lab.burnish("cost", "--json").json["total"]
    assert lab.burnish("stats", "--days", "1", "--json").json["total"]["calls"] == 0
    lab.burnish("stats", "--days", "0", code=2)
