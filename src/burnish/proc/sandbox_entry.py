"""Prepares the shim's child before it executes bubblewrap: rules, mounts, and variables for the sandbox only.

Loaded by `shim.py` from this folder, without the package: only cheap imports.
"""
# ruff: noqa: PTH108, PTH116

from __future__ import annotations

import errno
import os

# With LD_*: the variables that glibc ignores for privileged programs.
LOADER_VARIABLES = (
    "GCONV_PATH", "GETCONF_DIR", "GLIBC_TUNABLES", "HOSTALIASES", "LOCALDOMAIN", "LOCPATH", "MALLOC_TRACE", "NIS_PATH",
    "NLSPATH", "RESOLV_HOST_CONF", "RES_OPTIONS", "TZDIR",
)  # fmt: skip
# machine → for each of its system call tables: the number of the table, of clone, unshare, socket and socketcall
NO_CALL = 0xFFFFFFFF
SYSTEM_CALLS = {
    "x86_64": ((0xC000003E, 56, 272, 41, NO_CALL), (0x40000003, 120, 310, 359, 102)),
    "aarch64": ((0xC00000B7, 220, 97, 198, NO_CALL), (0x40000028, 120, 337, 281, 102)),
}
# An outer sandbox that hides nothing. Its first process is the bubblewrap that holds the program, which cannot see it.
# A program can trace the first process that it does see, and free it from dying with its parent.
ENCLOSURE = ("--dev-bind", "/", "/", "--unshare-pid", "--as-pid-1", "--die-with-parent", "--")
# What bubblewrap shows of /dev: the machine's own files, which belong to root.
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


def prepare(argv: list[str], env: dict[str, str], *, outer: str, reports: int) -> tuple[list[str], dict[str, str]]:
    """Confine this process, and return what to execute in it. `outer`: the bubblewrap for the enclosure, or "".

    `reports`: the descriptor for bubblewrap's reports, which it closes before it executes the program.
    """
    place = bubblewrap_in(argv)
    if place is None:
        # burnish did not find it; a PATH set by the repository must not find it outside of the sandbox.
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
    if os.geteuid() == 0:
        protect_devices()
    scope_to_sandbox(argv[place])
    forbid_system_calls(argv[place])
    os.set_inheritable(reports, True)
    argv = [*argv[: place + 1], "--json-status-fd", str(reports), *argv[place + 1 :]]
    argv, env = keep_inside(argv, env, place)
    return ([outer, *ENCLOSURE, *argv] if outer else argv), env


def bubblewrap_in(argv: list[str]) -> int | None:
    """The index of bubblewrap: 0, or after the `--` of the program that mounts overlays before it."""
    places = [0, argv.index("--") + 1] if "--" in argv[:-1] else [0]
    return next((place for place in places if argv[place].startswith("/") and argv[place].endswith("/bwrap")), None)


def keep_inside(argv: list[str], env: dict[str, str], place: int) -> tuple[list[str], dict[str, str]]:
    """Set loader variables inside of the sandbox only.

    A repository can set them (`isolation.env`), and bubblewrap itself would load what LD_PRELOAD names.
    """
    names = [name for name in env if name.startswith("LD_") or name in LOADER_VARIABLES]
    options = [word for name in names for word in ("--setenv", name, env[name])]
    rest = {name: value for name, value in env.items() if name not in names}
    if "LD_LIBRARY_PATH" in os.environ:
        # The user's value: burnish's Python may need it.
        rest["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
        if "LD_LIBRARY_PATH" not in names:
            options += ["--unsetenv", "LD_LIBRARY_PATH"]
    return [*argv[: place + 1], *options, *argv[place + 1 :]], rest


def private_copy(path: str) -> int:
    """A read-only descriptor of an unlinked copy of a file.

    A read-only mount does not protect a file that is open: the program could open /proc/self/fd/0 again and write.
    """
    name = path + ".copy"
    source = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    target = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        reader = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        while data := os.read(source, 1 << 20):
            while data:
                data = data[os.write(target, data) :]
    finally:
        os.unlink(name)
        os.close(source)
        os.close(target)
    return reader


def protect_devices() -> None:
    """Root owns the device files that bubblewrap shows, and could change their mode: read-only mounts forbid that.

    They can still be written to. Bubblewrap itself would make such a mount unusable for devices. Only root calls this.
    """
    import ctypes

    new_mounts, bind, remount_read_only, private = 0x20000, 0x1000, 0x1000 | 0x20 | 1, 0x4000 | 0x40000
    no_suid_dev_exec, by_status = 2 | 4 | 8, {1024: 1024, 2048: 2048, 4096: 1 << 21}
    libc = ctypes.CDLL(None)
    if libc.unshare(new_mounts) != 0 or libc.mount(b"none", b"/", None, ctypes.c_ulong(private), None) != 0:
        return  # then bubblewrap cannot mount either, and reports why
    for name in DEVICES:
        path = f"/dev/{name}".encode()
        if libc.mount(path, path, None, ctypes.c_ulong(bind), None) == 0:
            status = os.statvfs(path).f_flag
            # a container may forbid to change the others
            others = sum(flag for bit, flag in by_status.items() if status & bit)
            flags = remount_read_only | (status & no_suid_dev_exec) | others
            libc.mount(None, path, None, ctypes.c_ulong(flags), None)


def scope_to_sandbox(program: str) -> None:
    """Landlock scope (Linux 6.12): neither abstract sockets nor signals reach what is outside of the sandbox.

    Network namespaces separate abstract sockets too, but then there is no network. Older kernels: nothing is done.
    """
    if os.stat(program).st_mode & 0o4000:
        return  # a setuid bubblewrap does not start without new privileges
    import ctypes

    syscall = ctypes.CDLL(None).syscall
    create_ruleset, restrict_self, ask_version = 444, 446, 1
    if syscall(create_ruleset, None, ctypes.c_size_t(0), ask_version) < 6:
        return
    no_rules_for_files_or_ports, abstract_sockets, signals = (0, 0), 1, 2
    attributes = (ctypes.c_uint64 * 3)(*no_rules_for_files_or_ports, abstract_sockets | signals)
    ruleset = syscall(create_ruleset, attributes, ctypes.c_size_t(ctypes.sizeof(attributes)), 0)
    if ruleset >= 0 and _set_no_new_privileges():
        syscall(restrict_self, ruleset, 0)
        os.close(ruleset)


def forbid_system_calls(program: str) -> None:
    """Forbid cgroup namespaces, other kinds of sockets and the kernel's events about processes inside.

    With such a namespace, a program could mount burnish's own cgroup. Root, and a user to whom a group is delegated,
    could then freeze or end all that is in it, and leave frozen processes behind that cannot be killed. clone3 has its
    flags in memory, which a filter cannot read: programs that are told that it does not exist use clone.

    The events (netlink connector) report the start, name and end of every process of the machine. io_uring and the old
    socketcall create sockets unseen by a filter: the first is forbidden, the second does not exist for new sockets.

    Network namespaces do not hold all kinds of sockets: with AF_VSOCK a program would reach the host of a virtual
    machine. There are only local sockets, IP and netlink.
    """
    tables = SYSTEM_CALLS.get(os.uname().machine, ())
    if not tables or os.stat(program).st_mode & 0o4000:
        return
    import ctypes
    import struct

    load, keep_bits, is_equal, has_bits, answer = 0x20, 0x54, 0x15, 0x45, 0x06
    allow, fail_with = 0x7FFF0000, 0x00050000
    not_permitted, not_implemented, no_such_family = fail_with | 1, fail_with | 38, fail_with | 97
    first_argument, third_argument = 16, 32
    code: list[tuple[int, int, int, int]] = [(load, 0, 0, 4)]
    for table, clone, unshare, socket, socketcall in tables:
        code += [
            (is_equal, 0, 29, table),
            (load, 0, 0, 0),
            (keep_bits, 0, 0, 0xBFFFFFFF),  # x32 has the same numbers with this bit
            (is_equal, 0, 1, 435),  # clone3
            (answer, 0, 0, not_implemented),
            (is_equal, 0, 1, 425),  # io_uring_setup
            (answer, 0, 0, not_permitted),
            (is_equal, 4, 0, clone),
            (is_equal, 3, 0, unshare),
            (is_equal, 6, 0, socket),
            (is_equal, 15, 0, socketcall),
            (answer, 0, 0, allow),
            (load, 0, 0, first_argument),  # of clone and unshare
            (has_bits, 0, 1, 0x02000000),  # CLONE_NEWCGROUP
            (answer, 0, 0, not_permitted),
            (answer, 0, 0, allow),
            (load, 0, 0, first_argument),  # of socket
            (is_equal, 7, 0, 1),  # AF_UNIX
            (is_equal, 6, 0, 2),  # AF_INET
            (is_equal, 5, 0, 10),  # AF_INET6
            (is_equal, 1, 0, 16),  # AF_NETLINK
            (answer, 0, 0, no_such_family),
            (load, 0, 0, third_argument),
            (is_equal, 0, 1, 11),  # NETLINK_CONNECTOR
            (answer, 0, 0, not_permitted),
            (answer, 0, 0, allow),
            (load, 0, 0, first_argument),  # of socketcall
            (is_equal, 0, 1, 1),  # SYS_SOCKET
            (answer, 0, 0, not_implemented),
            (answer, 0, 0, allow),
        ]
    code.append((answer, 0, 0, allow))
    filters = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
    order = ctypes.create_string_buffer(struct.pack("HP", len(code), ctypes.addressof(filters)))
    if _set_no_new_privileges():
        ctypes.CDLL(None).prctl(22, ctypes.c_ulong(2), order, 0, 0)  # PR_SET_SECCOMP, with a filter


def _set_no_new_privileges() -> bool:
    """Set PR_SET_NO_NEW_PRIVS, as bubblewrap does."""
    import ctypes

    return bool(ctypes.CDLL(None).prctl(38, 1, 0, 0, 0) == 0)
