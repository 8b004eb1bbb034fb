"""Where bubblewrap does not work, the cause and the cure are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.proc import sandbox

CASES = [
    ({"/proc/sys/user/max_user_namespaces": "0"}, "No space left", "max_user_namespaces is 0", "sysctl user."),
    ({"/proc/sys/kernel/unprivileged_userns_clone": "0"}, "x", "unprivileged_userns_clone is 0", "sysctl kernel."),
    (
        {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1"},
        "bwrap: setting up uid map: Permission denied",
        "AppArmor restricts user namespaces",
        "AppArmor profile",
    ),
    (
        {"/proc/self/status": "Name:\tx\nSeccomp:\t2\n"},
        "bwrap: No permissions to create new namespace",
        "container forbids namespaces",
        "seccomp=unconfined",
    ),
    ({}, "bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "hides parts of /proc", "systempaths"),
    ({}, "bwrap: something else", "", "docs/sandbox.md"),
]


@pytest.mark.parametrize(("settings", "message", "cause", "cure"), CASES)
def test_the_cause_and_the_cure_are_named(
    settings: dict[str, str], message: str, cause: str, cure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the kernel's settings of another machine
    monkeypatch.setattr(sandbox, "_setting", lambda path: settings.get(path, ""))
    monkeypatch.setattr(sandbox, "_CONTAINER_FILES", ())
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    program = tmp_path / "bwrap"
    program.write_text(f'#!/bin/sh\necho "{message}" >&2\nexit 1\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    obstacle = sandbox.sandbox_obstacle()
    assert obstacle is not None and f"cannot run ({message})" in obstacle.cause
    assert cause in obstacle.cause and cure in obstacle.cure


def test_a_missing_bubblewrap_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("PATH", str(tmp_path))
    obstacle = sandbox.sandbox_obstacle()
    assert obstacle == sandbox.Obstacle("bubblewrap is not installed", "Install the package `bubblewrap`.")
