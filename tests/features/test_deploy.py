"""The files in `deploy/`: commands and options in them exist."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from testing.lab import Lab

DEPLOY = Path(__file__).parents[2] / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_knows_each_setting_of_a_unit(unit: Path, tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd is not installed")
    text = unit.read_text().replace("/opt/burnish/bin/burnish", "/bin/true")
    (tmp_path / unit.name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", tmp_path / unit.name], capture_output=True, text=True, check=False
    )
    assert not [line for line in done.stderr.splitlines() if unit.name in line], done.stderr


def commands() -> list[list[str]]:
    lines = [re.search(r"^ExecStart=\S+/burnish (.*)$", unit.read_text(), re.M) for unit in UNITS]
    arguments = re.search(r"^WORKER_ARGS=(.*)$", (DEPLOY / "worker.env").read_text(), re.M)
    assert arguments and all(lines)
    found = [shlex.split(line[1].replace("$WORKER_ARGS", arguments[1])) for line in lines if line]
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return [*found, compose["services"]["worker"]["command"][1:]]


@pytest.mark.parametrize("words", commands(), ids=lambda words: words[0])
def test_each_command_has_the_options_that_it_is_started_with(words: list[str], tmp_path: Path) -> None:
    text = Lab.make(tmp_path).burnish(words[0], "--help").out
    assert all(word in text for word in words if word.startswith("-"))


def test_the_compose_file_names_what_it_defines() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    assert set(compose) == {"services", "secrets", "volumes"}
    for service in compose["services"].values():
        assert set(service.get("secrets", ())) <= set(compose["secrets"])
        assert set(service.get("depends_on", ())) <= set(compose["services"])
        named = [volume.partition(":")[0] for volume in service.get("volumes", ())]
        assert set(named) <= set(compose["volumes"])
