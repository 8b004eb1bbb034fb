"""The real systemd: a manager of the user and a logind in namespaces of their own, with private buses."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from testing.lab import Lab

MANAGER = Path("/usr/lib/systemd/systemd")
PROGRAMS = ("unshare", "dbus-daemon", "systemctl", "systemd-run", "systemd-inhibit", "systemd-analyze")
# A tree of cgroups without the controllers of the machine: scopes are made, and their limits are not enforced.
SETUP = """
set -u
mount --make-rprivate / && mount -t tmpfs tmpfs /run && umount -l /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup || exit 77
mkdir -p /run/dbus /run/systemd/system /run/systemd/seats /run/systemd/users /run/systemd/sessions \
    /run/systemd/inhibit /run/user/0
chmod 700 /run/user/0
export XDG_RUNTIME_DIR=/run/user/0 DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/0/bus
dbus-daemon --session --address=$DBUS_SESSION_BUS_ADDRESS --fork && dbus-daemon --system --fork || exit 77
/usr/lib/systemd/systemd-logind >/dev/null 2>&1 &
/usr/lib/systemd/systemd --user >/dev/null 2>&1 &
for _ in $(seq 120); do
    case "$(systemctl --user is-system-running 2>/dev/null)" in running | degraded) break ;; esac
    sleep 0.5
done
"""


def in_systemd(lab: Lab, script: str) -> str:
    """What the script prints, which runs beside the manager; everything ends with it."""
    if os.geteuid() or not MANAGER.exists() or not all(map(shutil.which, PROGRAMS)):
        pytest.skip("it takes root and the programs of systemd and dbus")
    env = {**lab.env, "BURNISH": f"{sys.executable} -P -m burnish.cli -C {lab.repo.path}", "PYTHON": sys.executable}
    done = subprocess.run(
        [
            "unshare",
            "--cgroup",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "sh",
            "-c",
            SETUP + script,
        ],
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **env},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode == 77 or "Operation not permitted" in done.stderr:
        pytest.skip(f"namespaces cannot be made here: {done.stderr.strip()[-200:]}")
    return done.stdout + done.stderr


SERVICE = """
$BURNISH service -j 2 --install
unit=$(basename "$XDG_CONFIG_HOME"/systemd/user/*.service)
systemd-analyze --user verify "$XDG_CONFIG_HOME/systemd/user/$unit" && echo "unit is valid"
systemctl --user daemon-reload && systemctl --user enable --now "$unit"
state() { systemctl --user show "$unit" -p ActiveState,SubState,Result --value | paste -sd' '; }
for _ in $(seq 120); do systemd-inhibit --list --no-pager | grep -q Tasks && break; sleep 0.5; done
echo "at work: $(state)"
systemd-inhibit --list --no-pager
kill -9 "$(systemctl --user show "$unit" -p MainPID --value)"
sleep 2
echo "after a crash: $(state)"
systemctl --user start "$unit"
for _ in $(seq 120); do $BURNISH stop >/dev/null 2>&1 && break; sleep 0.5; done
for _ in $(seq 60); do case "$(state)" in *inactive*) break ;; esac; sleep 0.5; done
echo "after stop: $(state)"
"""
SCOPE = """
$PYTHON -P - <<'END'
import subprocess
from burnish.proc.memory import capped, is_memory_cap_available
print("available:", is_memory_cap_available())
argv, env = capped(["/bin/sh", "-c", "tail -n 1 /proc/self/cgroup"], 50_000_000)
print("group:", subprocess.run(argv, env=env, capture_output=True, text=True, check=True).stdout)
END
"""


@pytest.mark.long
@pytest.mark.timeout(320)
def test_systemd_runs_the_service_and_the_machine_stays_awake(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author="time.sleep(300)")
    lab.env["XDG_CONFIG_HOME"] = str(tmp_path / "config")
    lab.burnish("trust")
    lab.add("Add division")
    shown = in_systemd(lab, SERVICE)
    assert "unit is valid" in shown
    assert "at work: success active running" in shown, shown
    assert "sleep:idle Tasks are running block" in " ".join(shown.split()), shown
    assert "after a crash: signal activating auto-restart" in shown, shown
    assert "after stop: success inactive dead" in shown, shown


@pytest.mark.long
@pytest.mark.timeout(320)
def test_systemd_starts_a_program_in_a_scope_with_a_memory_limit(tmp_path: Path) -> None:
    shown = in_systemd(Lab.make(tmp_path), SCOPE)
    assert "available: True" in shown, shown
    assert "group: 0::/app.slice/run-" in shown and ".scope" in shown, shown
