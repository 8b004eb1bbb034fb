"""A clone that is not trusted, on a machine whose state is on a server: its remote is not asked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from burnish.cli.main import main
from testing.both_stores import POSTGRESQL_NAME
from testing.lab import APPROVE
from testing.machines import Machine, Machines
from testing.postgresql import postgresql_server

ADDS = 'app.write_text(app.read_text() + "# more\\n")'
# each names a program that git starts to reach the remote
REMOTES = {
    "uploadpack": {"remote.origin.uploadpack": "touch {mark}; git-upload-pack"},
    "ext": {"remote.origin.url": "ext::touch {mark}", "protocol.ext.allow": "always"},
    "proxy": {"remote.origin.url": "git://127.0.0.1:9/x", "core.gitProxy": "{program}"},
    "other": {"remote.origin.url": "x:y", "url.ext::touch {mark} .insteadOf": "x:", "protocol.ext.allow": "always"},
}
LOOKS = (
    "status",
    "list",
    "doctor",
    "config show",
    "init --dry-run",
    "inbox",
    "events",
    "show 1",
    "add More",
    "pause 1",
)


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with postgresql_server().database() as url:
        found = Machines.make(tmp_path_factory.mktemp("machines"), url, "one", "two", author=ADDS, judge=APPROVE)
        found.all["one"].burnish("add", "Add division")
        yield found


def burnish(machine: Machine, command: str) -> int:
    with mock.patch.dict(os.environ, machine.lab.env):
        return main(["-C", str(machine.lab.repo.path), *command.split()])


@pytest.mark.attacks("programs that an untrusted .git names", len(REMOTES) * len(LOOKS) * 2, store=POSTGRESQL_NAME)
@pytest.mark.parametrize("name", REMOTES)
def test_no_command_that_looks_starts_a_program_that_an_untrusted_clone_names(
    machines: Machines, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    mark, program = tmp_path / "started", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    # the database knows the first one, whose trust the person has revoked; it has never seen the second one
    known, new = machines.add(f"known-{name}"), machines.add(f"new-{name}", trust=False)
    burnish(known, "untrust")
    for machine in (known, new):
        for key, value in REMOTES[name].items():
            machine.lab.repo.git("config", key.format(mark=mark), value.format(mark=mark, program=program))
        for command in LOOKS:
            burnish(machine, command)
            assert not mark.exists(), (machine.name, command)
    assert "not asked before the checkout is trusted" in capsys.readouterr().err
    # the control: in a trusted clone, git starts it
    burnish(new, "trust")
    burnish(new, "status")
    assert mark.exists()


def test_a_new_clone_joins_the_project_of_the_other_machines_when_it_is_trusted(
    machines: Machines, capsys: pytest.CaptureFixture[str]
) -> None:
    new = machines.add("joins", trust=False)
    assert burnish(new, "add Another") == 4
    capsys.readouterr()
    # it is not told that it has no tasks, and to add some, which is refused
    for looks in ("status", "list"):
        assert burnish(new, looks) == 0
        assert capsys.readouterr().out == (
            "This may be a clone of a project of another machine. Let burnish ask its git remote: burnish trust\n"
        )
    assert burnish(new, "show 1") == 2
    assert "Let burnish ask its git remote: burnish trust" in capsys.readouterr().err
    assert burnish(new, "trust") == 0
    assert new.tasks()["1"]["title"] == "Add division"
