"""What init writes, and what it leaves alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish import config
from burnish.checks.discover import DiscoveredChecks, decide, discover
from burnish.config.loading import load
from burnish.config.sources import parse_yaml
from burnish.errors import BadInput, BurnishError, Refused
from burnish.features.init.init import InitReport, initiate, settings_text
from burnish.store import Store
from testing.layouts import MONO, NODE, OTHERS, PYTHON
from testing.long_forms import examples
from testing.userrepo import UserRepo

LAYOUTS = {**PYTHON, **NODE, **OTHERS, **MONO}


@pytest.fixture(autouse=True)
def no_settings_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BURNISH__SANDBOX__WRITE")


def init(repo: UserRepo, *, slash: bool = False, force: bool = False, dry_run: bool = False) -> InitReport:
    return initiate(repo.path, slash=slash, force=force, dry_run=dry_run)


def test_a_lock_file_that_git_ignores_is_not_what_the_set_up_installs_from(user_repo: UserRepo) -> None:
    files = {"package.json": '{"name": "x", "scripts": {"test": "mocha"}, "devDependencies": {"mocha": "1"}}'}
    user_repo.commit({**files, ".gitignore": "node_modules\npackage-lock.json\n"})
    (user_repo.path / "package-lock.json").write_text("{}")
    assert _setup_command(init(user_repo, dry_run=True)) == "npm install"
    # tracked in spite of the pattern
    user_repo.git("add", "--force", "package-lock.json")
    assert _setup_command(init(user_repo, dry_run=True)) == "npm ci"


def test_a_lock_file_that_is_not_committed_does_not_choose_the_set_up(user_repo: UserRepo) -> None:
    package = '{"scripts": {"test": "mocha"}, "devDependencies": {"mocha": "10"}}'
    user_repo.commit({"package.json": package, ".gitignore": "node_modules\n"})
    (user_repo.path / "package-lock.json").write_text("{}")
    assert _setup_command(init(user_repo, dry_run=True)) == "npm install"
    user_repo.git("add", "package-lock.json")
    assert _setup_command(init(user_repo, dry_run=True)) == "npm ci"


def _setup_command(outcome: InitReport) -> str:
    return next(str(one.value) for one in outcome.decided if one.key == ("workspace", "setup"))


@pytest.mark.parametrize(("files", "expected"), LAYOUTS.values(), ids=LAYOUTS.keys())
def test_what_is_written_loads_and_means_what_was_decided(
    files: dict[str, str], expected: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "burnish.yaml").write_text(settings_text(decide(discover(files, files.get))))
    loaded = {key: value for key, value, origin in load(tmp_path).items() if origin != "default"}
    in_file = {key: value for key, value in loaded.items() if not key.endswith(".paths")}
    assert in_file == {key: value for pair in expected.items() for key, value in _leaves(*pair)}


def _leaves(key: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [*_leaves(f"{key}.command", value["run"]), (f"{key}.cwd", value["cwd"])]
    return [(key, list(value) if isinstance(value, tuple) else value)]


def test_an_agent_that_the_user_has_chosen_for_all_projects_stays_in_force(
    user_repo: UserRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "config" / "burnish" / "config.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("agent: robot\nagents: {robot: {kind: command, argv: [robot]}}\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert ("agent",) not in [one.key for one in init(user_repo).decided]
    assert load(user_repo.path).agent == "robot"


WORDS = st.text(min_size=1) | st.sampled_from(
    ["-1", ".5", "-.inf", "1e3", "0x1", "no", "~", "a: b", "x #y", "-", "./a,b"]
)


@settings(deadline=None, max_examples=examples(60))
@given(WORDS, st.lists(WORDS, min_size=1), st.text())
def test_any_command_and_any_reason_survive_the_file(line: str, words: list[str], why: str) -> None:
    decided = (
        DiscoveredChecks(("checks", "test"), line, why),
        DiscoveredChecks(("checks", "extra", "web-test"), tuple(words), why),
        DiscoveredChecks(("checks", "extra", "x-test"), line, why, cwd=line, paths=tuple(words)),
        DiscoveredChecks(("workspace", "setup"), line, why),
    )
    data, _ = parse_yaml(settings_text(decided, slash=True), "burnish.yaml")
    checks = {"test": line, "extra": {"web-test": words, "x-test": {"run": line, "cwd": line, "paths": words}}}
    assert data == {"checks": checks, "workspace": {"setup": line}}


def test_only_what_was_decided_is_written_and_the_project_is_known(user_repo: UserRepo, hermetic: Path) -> None:
    user_repo.commit({"tests/test_app.py": "def test_a(): ...\n", "ruff.toml": ""})
    before = set(user_repo.path.rglob("*"))
    outcome = init(user_repo)
    assert [(file.path.name, file.state) for file in outcome.files] == [("burnish.yaml", "written")]
    assert {path.name for path in set(user_repo.path.rglob("*")) - before} == {"burnish.yaml"}
    changed = {key: origin for key, _, origin in config.load(user_repo.path).items() if origin != "default"}
    assert set(changed) == {"agent", "checks.test", "checks.lint"}
    with Store.open(hermetic / "burnish") as store:
        assert [project.root for project in store.projects()] == [user_repo.path]


def test_a_second_time_nothing_changes(user_repo: UserRepo) -> None:
    user_repo.commit({"tests/test_app.py": "def test_a(): ...\n"})
    init(user_repo)
    before = user_repo.fingerprint()
    again = init(user_repo, slash=False)
    assert again.files[0].state == "kept" and again.differences == []
    assert user_repo.fingerprint() == before


def test_what_would_change_is_told_and_force_changes_it(user_repo: UserRepo) -> None:
    text = "checks: {test: make test}\n"
    user_repo.commit({"tests/test_app.py": "def test_a(): ...\n", "burnish.yaml": text})
    (one,) = init(user_repo).differences
    assert (one.key, one.now, one.origin) == ("checks.test", "make test", "burnish.yaml:1")
    assert (user_repo.path / "burnish.yaml").read_text() == text
    assert init(user_repo, force=True).files[0].state == "written"
    assert "make test" not in (user_repo.path / "burnish.yaml").read_text()


def test_auto_that_finds_the_same_is_no_difference(user_repo: UserRepo) -> None:
    user_repo.commit({"tests/test_app.py": "def test_a(): ...\n", "burnish.yaml": "approval: required\n"})
    assert init(user_repo).differences == []


def test_a_dry_run_writes_nothing_anywhere(user_repo: UserRepo, hermetic: Path) -> None:
    before = user_repo.fingerprint()
    outcome = init(user_repo, slash=True, dry_run=True)
    assert {file.state for file in outcome.files} == {"planned"}
    assert user_repo.fingerprint() == before
    assert not (hermetic / "burnish").exists()


def test_slash_commands_are_written_once_and_kept_if_changed(user_repo: UserRepo) -> None:
    outcome = init(user_repo, slash=True)
    assert [file.path.name for file in outcome.files] == ["burnish.yaml", "review-task.md", "parse-review.md"]
    mine = user_repo.path / ".claude" / "commands" / "review-task.md"
    assert "$ARGUMENTS" in mine.read_text() and mine.read_text().startswith("---\n")
    mine.write_text("mine\n")
    states = {file.path.name: file.state for file in init(user_repo, slash=True).files}
    assert (states["review-task.md"], states["parse-review.md"]) == ("kept", "same")
    assert mine.read_text() == "mine\n"
    init(user_repo, slash=True, force=True)
    assert mine.read_text() != "mine\n"


def test_settings_in_pyproject_are_enough(user_repo: UserRepo) -> None:
    user_repo.commit({"pyproject.toml": "[tool.burnish]\napproval = 'required'\n"})
    outcome = init(user_repo)
    assert outcome.files[0].path.name == "pyproject.toml" and outcome.files[0].state == "kept"
    assert not (user_repo.path / "burnish.yaml").exists()
    with pytest.raises(BadInput, match=r"tool\.burnish"):
        init(user_repo, force=True)


def test_settings_that_do_not_load_are_an_error_unless_they_go(user_repo: UserRepo) -> None:
    user_repo.commit({"burnish.yaml": "agnt: claude\n"})
    with pytest.raises(BadInput, match="agnt"):
        init(user_repo)
    init(user_repo, force=True)
    config.load(user_repo.path)


def test_from_a_folder_below_the_root_is_meant(user_repo: UserRepo) -> None:
    user_repo.commit({"a/b/c.py": ""})
    assert initiate(user_repo.path / "a" / "b", slash=False, force=False, dry_run=True).root == user_repo.path


def test_outside_a_repository_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not inside a git repository"):
        initiate(tmp_path, slash=False, force=False, dry_run=False)


def test_an_agent_may_not_rewrite_the_rules(user_repo: UserRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BURNISH_TASK", "1")
    with pytest.raises(Refused):
        init(user_repo, force=True)


def test_what_cannot_be_written_is_told(user_repo: UserRepo) -> None:
    (user_repo.path / ".claude").write_text("a file where a folder should be")
    with pytest.raises(BurnishError, match="Cannot write"):
        init(user_repo, slash=True)


def test_notes_tell_what_is_lacking(user_repo: UserRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    assert any("No test command" in note for note in init(user_repo, dry_run=True).notes)
    user_repo.commit({"package.json": '{"scripts": {"test": "jest"}}', "package-lock.json": "{}", "app.py": ""})
    git_only = os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if not (Path(p) / "npm").exists())
    monkeypatch.setenv("PATH", git_only)
    notes = init(user_repo, dry_run=True).notes
    assert any("npm is not installed" in note for note in notes)
    assert any("node_modules" in note for note in notes)


def test_odd_names_and_links_do_no_harm(user_repo: UserRepo, tmp_path: Path) -> None:
    (user_repo.path / os.fsdecode(b"bad\xff")).mkdir()
    (user_repo.path / os.fsdecode(b"bad\xff") / "package.json").write_text('{"scripts": {"test": "x"}}')
    (user_repo.path / "line\nbreak").mkdir()
    (user_repo.path / "line\nbreak" / "go.mod").write_text("")
    (user_repo.path / "loop").symlink_to(user_repo.path)
    (user_repo.path / "go.mod").symlink_to("/nowhere")
    os.mkfifo(user_repo.path / "Makefile")
    assert init(user_repo).tools == ()
    config.load(user_repo.path)


PACKAGE = {
    "pyproject.toml": '[project]\nname = "x"\ndependencies = ["attrs"]\n[tool.pytest.ini_options]\n',
    "src/x/__init__.py": "",
    "tests/test_x.py": "def test_x(): ...\n",
}


@pytest.mark.parametrize(
    ("ignores", "hidden"),
    [("venv*/\n", False), ("# .venv\n", False), (".venv\n!.venv\n", False), (".venv\n", True), (".*\n", True)],
)
def test_git_is_asked_whether_the_environment_is_ignored(user_repo: UserRepo, ignores: str, hidden: bool) -> None:
    user_repo.commit({**PACKAGE, ".gitignore": ignores})
    setup = next(str(one.value) for one in init(user_repo, dry_run=True).decided if one.key == ("workspace", "setup"))
    assert ("echo '*' > .venv/.gitignore" in setup) is not hidden
    assert setup.endswith(" -e . pytest")


def test_a_linter_that_is_not_installed_is_not_written_and_said(
    user_repo: UserRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_repo.commit({"go.mod": "module x\n", "a.go": "package x\n", ".golangci.yml": ""})
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    outcome = init(user_repo, dry_run=True)
    assert "golangci-lint" not in outcome.text and "go vet" in outcome.text
    assert any("golangci-lint is not installed here" in note for note in outcome.notes)
    (tmp_path / "golangci-lint").write_text("#!/bin/sh\n")
    (tmp_path / "golangci-lint").chmod(0o755)
    assert "golangci-lint run" in init(user_repo, dry_run=True).text


def test_where_python_has_no_pytest_the_setup_brings_it(
    user_repo: UserRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_repo.commit({"app.py": "", "test_app.py": "def test_a(): ...\n"})
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "python3").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert ".venv/bin/python -m pip install -q pytest" in init(user_repo, dry_run=True).text
