"""What the doctor sees: in the machine, in a repository, and in runs that were cut."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path

import pytest

from burnish.agents.registry import AGENTS
from burnish.core.event import Event
from burnish.core.policy import CheckSpec
from burnish.core.task import Spec
from burnish.features.doctor import machine
from burnish.features.doctor.checkout import check_sign, first_program
from burnish.features.doctor.diagnostic import Diagnostic
from burnish.features.doctor.doctor import can_run, examine
from burnish.proc.identity import hold
from burnish.store import Store
from testing.bubblewrap import needs_bubblewrap
from testing.postgresql import postgresql_server
from testing.userrepo import UserRepo

Patch = pytest.MonkeyPatch


def look(where: Path) -> dict[str, Diagnostic]:
    return {f"{sign.group}.{sign.name}": sign for sign in examine(where, encoding="utf-8")}


def program(folder: Path, name: str, text: str = "#!/bin/sh\n") -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: Patch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


@pytest.mark.parametrize(
    ("version", "state"), [((2, 33), "missing"), ((2, 34), "weak"), ((2, 37), "weak"), ((2, 38), "ok"), ((3, 0), "ok")]
)
def test_an_old_git_is_told(version: tuple[int, int], state: str) -> None:
    assert machine.git_sign("/usr/bin/git", version).state == state
    assert machine.git_sign(None).state == "missing"


def test_an_old_python_is_told() -> None:
    assert machine.python_sign((3, 10, 9)).state == "missing"
    assert machine.python_sign((3, 11, 0)).state == "ok"


def test_room_is_measured_where_the_home_will_be(tmp_path: Path) -> None:
    states = [machine.room_sign(tmp_path / "not" / "yet", free).state for free in (0, 2**30, 2**40)]
    assert states == ["missing", "weak", "ok"]
    assert "GB free" in machine.room_sign(tmp_path / "not" / "yet").what


def test_a_home_must_be_a_folder_of_ones_own(tmp_path: Path) -> None:
    home = tmp_path / "b"
    assert "not made yet" in machine.home_sign(home).what
    home.mkdir(mode=0o755)
    assert machine.home_sign(home).remedy == f"chmod 700 {home}"
    home.chmod(0o700)
    assert machine.home_sign(home).state == "ok"
    (tmp_path / "file").write_text("")
    assert machine.home_sign(tmp_path / "file").state == "missing"


def test_a_home_that_cannot_be_written_is_missing() -> None:
    assert machine.home_sign(Path("/proc/burnish")).state == "missing"  # not even by root


def test_bubblewrap_must_be_there_and_work(bin_folder: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Linux")
    program(bin_folder, "bwrap", "#!/bin/sh\nexit 1\n")
    (broken, _) = machine.sandbox_signs()
    assert broken.state == "weak" and "cannot run" in broken.what
    program(bin_folder, "bwrap", "#!/bin/sh\nexit 0\n")
    (works, _) = machine.sandbox_signs()
    assert works.state == "ok"
    monkeypatch.setenv("PATH", str(bin_folder.parent / "nothing"))
    (absent, _) = machine.sandbox_signs()
    assert absent.state == "weak" and "all your rights" in absent.what


def test_a_sandbox_that_is_required_must_work(user_repo: UserRepo, bin_folder: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setenv("BURNISH__SANDBOX__MODE", "require")
    program(bin_folder, "bwrap", "#!/bin/sh\nexit 1\n")
    assert look(user_repo.path)["repository.sandbox"].state == "missing"
    program(bin_folder, "bwrap", "#!/bin/sh\nexit 0\n")
    assert "repository.sandbox" not in look(user_repo.path)


def test_a_path_of_the_sandbox_settings_that_does_not_exist_is_a_warning(
    user_repo: UserRepo, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("BURNISH__SANDBOX__READ", f"[{tmp_path}]")
    assert "repository.sandbox paths" not in look(user_repo.path)
    monkeypatch.setenv("BURNISH__SANDBOX__READ", f"[{tmp_path}, ~/not-there]")
    monkeypatch.setenv("BURNISH__SANDBOX__WRITE", "[/not-there/either]")
    sign = look(user_repo.path)["repository.sandbox paths"]
    assert sign.state == "weak"
    assert "~/not-there (sandbox.read), /not-there/either (sandbox.write)" in sign.what


def test_another_system_is_weaker_and_told_so(monkeypatch: Patch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    assert {sign.name: sign.state for sign in machine.sandbox_signs()} == {"sandbox": "weak", "processes": "weak"}


def test_a_terminal_without_utf8_is_weak() -> None:
    assert machine.terminal_sign("UTF-8").state == "ok"
    assert machine.terminal_sign("latin-1").state == machine.terminal_sign("").state == "weak"


def test_agents_are_named_with_their_place(bin_folder: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("PATH", str(bin_folder))
    assert [sign.name for sign in machine.agent_signs()] == ["agents"]
    program(bin_folder, "cursor-agent")
    program(bin_folder, "codex")
    found = {sign.name: sign for sign in machine.agent_signs()}
    assert list(found) == ["codex", "cursor"]
    assert str(bin_folder / "cursor-agent") in found["cursor"].what


@pytest.mark.parametrize(
    ("printed", "state", "text"),
    [
        ("2.1.325 (Claude Code)", "ok", "version 2.1.325 (supported from "),
        ("2.9.1", "ok", "version 2.9.1 (supported from "),
        ("Update available!\n2.0.14 (Claude Code)", "weak", "version 2.0.14 is older than "),
        ("hello", "ok", "version unknown"),
    ],
)
def test_the_version_of_a_program_is_compared_with_the_oldest_one_that_was_tried(
    bin_folder: Path, tmp_path: Path, printed: str, state: str, text: str
) -> None:
    program(bin_folder, "claude", f"#!/bin/sh\n[ \"$1\" = --version ] && printf '{printed}\\n'\n")
    sign = look(tmp_path)["agents.claude"]
    assert sign.state == state and text in sign.what and str(bin_folder / "claude") in sign.what
    assert sign.remedy == ("Update it: claude update" if state == "weak" else "")
    assert sign.details["min_version"] == AGENTS["claude"].min_version


def test_a_program_that_does_not_print_its_version_is_still_listed(
    bin_folder: Path, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setattr("burnish.features.doctor.agents.VERSION_SECONDS", 0.3)
    program(bin_folder, "claude", "#!/bin/sh\nexec sleep 60\n")
    program(bin_folder, "codex", "#!/bin/sh\nexit 1\n")
    found = look(tmp_path)
    assert "version unknown" in found["agents.claude"].what and "version unknown" in found["agents.codex"].what


def test_a_login_that_cannot_be_renewed_in_the_sandbox_is_weak_and_the_remedy_is_a_key(
    bin_folder: Path, monkeypatch: Patch, hermetic: Path
) -> None:
    needs_bubblewrap()
    monkeypatch.setenv("PATH", f"{bin_folder}{os.pathsep}{os.environ['PATH']}")
    for name in ("claude", "gemini", "codex"):
        program(bin_folder, name)
        (Path.home() / f".{name}").mkdir()
    soon = (time.time() + 1800) * 1000
    claude = {"claudeAiOauth": {"accessToken": "a", "refreshToken": "b", "expiresAt": soon}}
    (Path.home() / ".claude" / ".credentials.json").write_text(json.dumps(claude))
    (Path.home() / ".gemini" / "oauth_creds.json").write_text(json.dumps({"access_token": "a", "expiry_date": soon}))
    (Path.home() / ".codex" / "auth.json").write_text("not JSON")

    found = {sign.name: sign for sign in machine.agent_signs()}
    assert found["claude login"].state == "ok" and "setup-token" in found["claude login"].what
    assert found["gemini login"].state == "weak" and found["gemini login"].remedy == "Set GEMINI_API_KEY."
    assert found["codex login"].state == "weak" and "not JSON" in found["codex login"].what

    monkeypatch.setenv("GEMINI_API_KEY", "k")
    assert "gemini login" not in {sign.name for sign in machine.agent_signs()}


def test_outside_a_repository_only_the_machine_is_looked_at(tmp_path: Path) -> None:
    found = look(tmp_path)
    assert "machine" in {name.partition(".")[0] for name in found}
    assert [name for name in found if name.startswith("repository")] == ["repository.checkout"]


def test_the_users_own_settings_are_tried_everywhere(tmp_path: Path, hermetic: Path, user_repo: UserRepo) -> None:
    own = hermetic / ".config" / "burnish"
    own.mkdir(parents=True)
    (own / "config.yaml").write_text("agnt: claude\n")
    assert look(tmp_path)["settings.settings"].state == "missing"
    assert look(user_repo.path)["repository.settings"].state == "missing"


def test_looking_changes_nothing(user_repo: UserRepo, hermetic: Path, bin_folder: Path) -> None:
    program(bin_folder, "claude")
    before = user_repo.fingerprint()
    signs = examine(user_repo.path, encoding="utf-8")
    assert user_repo.fingerprint() == before
    assert not (hermetic / "burnish").exists()
    assert can_run(signs)


def test_a_branch_called_burnish_stands_in_the_way(user_repo: UserRepo) -> None:
    user_repo.git("branch", "burnish/other")
    assert "repository.branch" not in look(user_repo.path)
    user_repo.git("branch", "-D", "burnish/other")
    user_repo.git("branch", "burnish")
    sign = look(user_repo.path)["repository.branch"]
    assert sign.state == "missing" and "git branch -m" in sign.remedy


def test_a_repository_without_commits_cannot_run(tmp_path: Path) -> None:
    repo = UserRepo(tmp_path)
    repo.git("init", "-q", "new")
    assert look(tmp_path / "new")["repository.commits"].state == "missing"


def test_uncommitted_work_is_counted(user_repo: UserRepo) -> None:
    assert look(user_repo.path)["repository.work"].state == "ok"
    user_repo.write({"app.py": "x = 2\n", "new.py": ""})
    assert "2 paths" in look(user_repo.path)["repository.work"].what


def test_shallow_and_partial_clones_are_noted(user_repo: UserRepo, tmp_path: Path) -> None:
    user_repo.commit({"b.py": ""})
    user_repo.git("config", "uploadpack.allowFilter", "true")
    user_repo.git("clone", "-q", "--depth=1", f"file://{user_repo.path}", str(tmp_path / "shallow"))
    user_repo.git("clone", "-q", "--filter=blob:none", f"file://{user_repo.path}", str(tmp_path / "partial"))
    assert "shallow" in look(tmp_path / "shallow")["repository.clone"].what
    assert "partial" in look(tmp_path / "partial")["repository.clone"].what
    assert "repository.clone" not in look(user_repo.path)


def test_large_files_need_git_lfs(user_repo: UserRepo, bin_folder: Path, monkeypatch: Patch) -> None:
    user_repo.commit({"media/.gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n"})
    monkeypatch.setattr("burnish.git.lfs.program", lambda: None)
    assert look(user_repo.path)["repository.git-lfs"].state == "missing"
    monkeypatch.setattr("burnish.git.lfs.program", lambda: "/usr/bin/git-lfs")
    assert look(user_repo.path)["repository.git-lfs"].state == "ok"


def test_settings_that_do_not_load_are_missing_with_their_error(user_repo: UserRepo) -> None:
    user_repo.write({"burnish.yaml": "reviw: {}\n"})
    signs = examine(user_repo.path, encoding="utf-8")
    sign = next(sign for sign in signs if sign.name == "settings")
    assert (sign.state, "reviw" in sign.what, "review" in sign.remedy) == ("missing", True, True)
    assert not can_run(signs)


def test_who_works_and_who_reviews_is_told(user_repo: UserRepo, bin_folder: Path) -> None:
    program(bin_folder, "robot")
    entry = "agents: {robot: {kind: command, argv: [robot]}}\n"
    user_repo.write({"burnish.yaml": f"agent: robot\nreview: {{agents: [robot]}}\n{entry}"})
    user_repo.trust()
    found = look(user_repo.path)
    assert found["repository.agent"].what == found["repository.reviewer"].what == "robot"
    user_repo.write({"burnish.yaml": f"agent: robbot\n{entry}"})
    user_repo.trust()
    found = look(user_repo.path)
    assert found["repository.agent"].state == "missing" and "robot" in found["repository.agent"].remedy
    (bin_folder / "robot").unlink()
    user_repo.write({"burnish.yaml": f"agent: robot\nreview: {{agents: [robot]}}\n{entry}"})
    found = look(user_repo.path)
    assert found["repository.agent"].state == found["repository.reviewer"].state == "missing"


def test_checks_are_looked_up_with_their_programs(user_repo: UserRepo) -> None:
    assert "not tested" in look(user_repo.path)["repository.test"].what
    user_repo.write({"burnish.yaml": "checks: {test: no-such-tool --all, lint: [no-such-lint]}\n"})
    user_repo.trust()
    found = look(user_repo.path)
    assert "no-such-tool is not installed" in found["repository.test"].what
    assert "no-such-lint is not installed" in found["repository.lint"].what
    # what setup brings cannot be known beforehand
    user_repo.write({"burnish.yaml": "checks: {test: no-such-tool}\nworkspace: {setup: make tools}\n"})
    user_repo.trust()
    assert look(user_repo.path)["repository.test"].state == "ok"


def test_a_linter_that_auto_leaves_out_is_told(user_repo: UserRepo, bin_folder: Path, monkeypatch: Patch) -> None:
    user_repo.commit({"go.mod": "module x\n", "a.go": "package x\n", ".golangci.yml": ""})
    monkeypatch.setenv("PATH", f"{bin_folder}:/usr/bin:/bin")
    told = [sign.what for sign in examine(user_repo.path, encoding="utf-8") if sign.name == "lint"]
    assert "`go vet ./...`" in " ".join(told) and "golangci-lint is not installed here" in " ".join(told)


def test_tests_that_no_check_runs_are_named(user_repo: UserRepo) -> None:
    scripts = '{"scripts": {"test": "node --test", "test:e2e": "playwright test"}}'
    user_repo.commit({"package.json": scripts, "burnish.yaml": "checks: {test: npm test, lint: null}\n"})
    user_repo.trust()
    sign = look(user_repo.path)["repository.not run"]
    assert sign.state == "weak" and sign.what.startswith("`npm run test:e2e`: it may need services, a browser")
    user_repo.write({"burnish.yaml": "checks: {test: npm test, lint: null, extra: {e2e: npm run test:e2e}}\n"})
    user_repo.trust()
    assert "repository.not run" not in look(user_repo.path)


def test_a_python_without_pytest_is_told(tmp_path: Path) -> None:
    spec = CheckSpec("test", ("python", "-m", "pytest", "-q"))
    program(tmp_path / "bin", "python", "#!/bin/sh\nexit 1\n")
    (tmp_path / ".venv").mkdir()
    (tmp_path / "bin").rename(tmp_path / ".venv" / "bin")
    assert "no pytest" in check_sign(spec, tmp_path, made_later=False).what
    line = check_sign(CheckSpec("test", "CI=1 python -m pytest -q"), tmp_path, made_later=False)
    assert "no pytest" in line.what and line.state == "missing"
    assert check_sign(CheckSpec("test", f"{sys.executable} -m pytest -q"), tmp_path, made_later=False).state == "ok"
    own = CheckSpec("test", (sys.executable, "-m", "pytest"))
    assert check_sign(own, tmp_path, made_later=False).state == "ok"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("make test", "make"),
        ("cd web && npm test", "npm"),
        ("CI=1 A=b npm test", "npm"),
        ("./gradlew test", "./gradlew"),
        ("(cd a; b)", ""),
        ("echo 'open", ""),
        ("$TOOL run", ""),
        # what the shell itself does is not a program, also behind variables
        ("n=0 r=0; for t in tests/*.sh; do sh $t; done", ""),
        ("set -e; pytest", ""),
        ("", ""),
    ],
)
def test_the_first_program_of_a_shell_line(line: str, name: str) -> None:
    assert first_program(line) == name


def test_a_damaged_database_is_missing(user_repo: UserRepo, hermetic: Path) -> None:
    (hermetic / "burnish").mkdir(mode=0o700)
    (hermetic / "burnish" / "burnish.db").write_bytes(b"not a database, but long enough to be looked at" * 20)
    sign = look(user_repo.path)["machine.database"]
    assert sign.state == "missing" and "rebuild" in sign.remedy


def test_a_task_whose_runner_died_is_told_and_one_at_work_is_not(user_repo: UserRepo, hermetic: Path) -> None:
    home = hermetic / "burnish"
    store = Store.open(home)
    project = store.project_for(user_repo.path / ".git", user_repo.path, create=True)
    assert project
    task = store.add_task(project.key, Spec("One"), max_cycles=3, auto_review=True)
    with hold(home / "locks") as lock:
        runner = lock.runner.uuid
        assert store.claim(project.key, runner, ids=None, is_dead=lambda _: False)
        moved = Event("task.status", {"from": "backlog", "to": "in_progress"})
        store.record(project.key, task.id, [moved])
        assert look(user_repo.path)["runs.runners"].what == "1 task running, none cut"
    sign = look(user_repo.path)["runs.runner"]
    assert sign.state == "weak" and sign.remedy.startswith("burnish run 1")


def test_a_postgresql_database_is_shown_with_its_version_and_the_time_of_a_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgresql_server().database() as url:
        monkeypatch.setenv("BURNISH__DATABASE", url)
        sign, store = machine.database_sign(tmp_path)
        assert store
        store.close()
    assert re.search(r"^postgresql://burnish@/test\S+, PostgreSQL \d+\.\d+, \d+\.\d ms a query, 0 projects$", sign.what)
    monkeypatch.setenv("BURNISH__DATABASE", "postgresql://ann:s3cret@127.0.0.1:1/team")
    sign, store = machine.database_sign(tmp_path)
    assert store is None and "Cannot connect" in sign.what and "s3cret" not in sign.what


@pytest.mark.attacks("have a look start or read something", 1)
def test_the_doctor_asks_no_program_of_a_trusted_checkout_for_its_version(
    user_repo: UserRepo, bin_folder: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("BURNISH__SANDBOX__MODE", "off")
    mark, own = user_repo.path.parent / "started", user_repo.path / ".venv" / "bin"
    own.mkdir(parents=True)
    program(own, "claude", f"#!/bin/sh\ntouch '{mark}'\necho 9.9.9\n")
    program(bin_folder, "codex", "#!/bin/sh\necho codex-cli 7.7.7\n")
    monkeypatch.setenv("PATH", f"{own}:{bin_folder}:{os.environ['PATH']}")
    user_repo.trust()

    signs = str(look(user_repo.path))

    assert not mark.exists() and "9.9.9" not in signs
    assert "7.7.7" in signs, "the control"
