"""Mount overlays in a private mount namespace, then run a program: `python -I -S overlay_main.py SPEC… -- ARGV…`.

Each SPEC is `LOWER[:LOWER…],UPPER,WORK,TARGET`. A normal user gets the right to mount from a user namespace that maps
only the user's own id, so that files keep their owner. Standard library only: it runs under `-I -S`.
"""

from __future__ import annotations

import ctypes
import os
import sys

_CLONE_NEWNS = 0x00020000
_CLONE_NEWUSER = 0x10000000
_MS_REC_PRIVATE = 0x4000 | 0x40000
_FAILED = 125


def main(words: list[str]) -> None:
    end = words.index("--")
    specs, argv = words[:end], words[end + 1 :]
    try:
        _private_mounts()
        for spec in specs:
            _mount(*spec.split(","))
    except OSError as error:
        sys.stderr.write(f"burnish: cannot mount an overlay: {error}\n")
        sys.exit(_FAILED)
    os.execvp(argv[0], argv)


def _private_mounts() -> None:
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        _call("unshare", _CLONE_NEWNS)
    else:
        _call("unshare", _CLONE_NEWUSER | _CLONE_NEWNS)
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    # Mounts made here must not appear outside.
    _call("mount", b"none", b"/", None, _MS_REC_PRIVATE, None)


def _mount(lower: str, upper: str, work: str, target: str) -> None:
    options = f"lowerdir={lower},upperdir={upper},workdir={work},userxattr"
    _call("mount", b"overlay", os.fsencode(target), b"overlay", 0, os.fsencode(options))


def _call(name: str, *arguments: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:  # noqa: PTH123
        file.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
