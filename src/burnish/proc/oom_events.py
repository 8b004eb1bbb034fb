"""How many processes of this control group the kernel killed for want of memory. Loaded by the shim: cheap imports."""
# ruff: noqa: PTH118, PTH123

from __future__ import annotations

import os


def oom_kills(proc: str = "/proc/self/cgroup", root: str = "/sys/fs/cgroup") -> int:
    """The counter of the group that this process is in; 0 where the system does not tell."""
    try:
        with open(proc) as file:
            groups = [line.rstrip("\n").split(":", 2) for line in file]
    except (OSError, ValueError):
        return 0
    for _, controllers, path in groups:
        if "memory" in controllers.split(","):
            return _counter(os.path.join(root, "memory", path.lstrip("/"), "memory.oom_control"))
    for _, controllers, path in groups:
        if not controllers:
            return _counter(os.path.join(root, path.lstrip("/"), "memory.events"))
    return 0


def _counter(path: str) -> int:
    try:
        with open(path) as file:
            for line in file:
                name, _, value = line.partition(" ")
                if name == "oom_kill":
                    return int(value)
    except (OSError, ValueError):
        pass
    return 0
