"""Ways out of a sandbox, as small programs. Each prints GOT if it succeeded.

`T` is a dict: `socket` and `abstract` (somebody outside listens there), `pid` (a process outside), `checkout_socket`,
`secret` (a file in the home directory), `database`, `shared_memory`, `burnish` (command line of `decide`).
"""

from __future__ import annotations

import os

_HEAD = """
import ctypes, os, pathlib, signal, socket, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def got(): print("GOT", flush=True)
def connect(name):
    s = socket.socket(socket.AF_UNIX); s.settimeout(2); s.connect(name); got()
def writes(path):
    fd = os.open(path, os.O_WRONLY); os.close(fd); got()
def creates(folder):
    pathlib.Path(folder, "burnish-attack").write_text("x"); got()
def sh(text): return subprocess.run(["sh", "-c", text], capture_output=True, text=True, timeout=20).stdout
"""

ATTACKS = {
    # sockets of the user's session
    "socket in the temporary folder": "connect(T['socket'])",
    "socket in the checkout": "connect(T['checkout_socket'])",
    "abstract socket": r"connect('\0' + T['abstract'])",
    "sockets below /run": """
for root, _, files in os.walk("/run"):
    for name in files:
        try: connect(os.path.join(root, name))
        except OSError: pass
""",
    "socket variables": """
names = {"SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DOCKER_HOST", "TMUX", "DISPLAY"}
if names & set(os.environ): got()
""",
    # other processes
    "see a process outside": """
for pid in filter(str.isdigit, os.listdir("/proc")):
    try: mark = T["mark"].encode() in open(f"/proc/{pid}/environ", "rb").read()
    except OSError: continue
    if mark: got()
""",
    "signal a process outside": "os.kill(T['pid'], 0); got()",
    "signal a group outside": "os.killpg(T['pid'], 0); got()",
    "kill everything": "os.kill(-1, signal.SIGKILL)",
    "kill the first process": "os.kill(1, signal.SIGKILL); print('survived')",
    "environment of a process outside": "open(f\"/proc/{T['pid']}/environ\", 'rb').read() and got()",
    "root of a process outside": "os.listdir(f\"/proc/{T['pid']}/root\") and got()",
    "descriptor of a process outside": "libc.syscall(434, T['pid'], 0) >= 0 and got()",
    "limits of a process outside": "import resource; resource.prlimit(T['pid'], resource.RLIMIT_NOFILE, (9, 9)); got()",
    "ptrace a process outside": "libc.ptrace(16, T['pid'], 0, 0) == 0 and got()",
    "enter a namespace outside": "open(f\"/proc/{T['pid']}/ns/mnt\"); got()",
    "home through the first process": "open(f\"/proc/1/root{T['secret']}\").read() and got()",
    # files
    "private file": "open(T['secret']).read() and got()",
    "database": "open(T['database'], 'rb').read() and got()",
    "shared memory": "open(T['shared_memory']).read() and got()",
    "System V shared memory": "libc.shmget(T['shm_key'], 0, 0) >= 0 and got()",
    "write to /etc": "creates('/etc')",
    "write to /usr/local/bin": "creates('/usr/local/bin')",
    "write to /var/spool": "creates('/var/spool')",
    "write to the checkout": "creates(T['checkout'])",
    "write to the burnish home": "creates(T['burnish_home'])",
    "file by handle": """
handle = (ctypes.c_ubyte * 136)(128)
mount = ctypes.c_int()
fd = os.open("/", os.O_RDONLY)
libc.syscall(303, fd, b"etc", handle, ctypes.byref(mount), 0)
if libc.syscall(304, fd, handle, os.O_RDONLY) >= 0: got()
""",
    # the kernel
    "core pattern": "writes('/proc/sys/kernel/core_pattern')",
    "modprobe path": "writes('/proc/sys/kernel/modprobe')",
    "system request": "writes('/proc/sysrq-trigger')",
    "sysfs": "writes('/sys/kernel/uevent_helper')",
    "cgroup": "os.mkdir('/sys/fs/cgroup/burnish-attack'); got()",
    "device node": "os.mknod('node', 0o600 | 0o060000, os.makedev(8, 0)); open('node', 'rb'); got()",
    "raw socket": "socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP); got()",
    "events of all processes": "s = socket.socket(16, socket.SOCK_DGRAM, 11); s.bind((0, 1)); got()",
    "host of a virtual machine": "socket.socket(40, socket.SOCK_STREAM); got()",
    "other kinds of sockets": """
for family in {*range(46)} - {1, 2, 10, 16}:
    for kind in (1, 2, 3, 5):
        try: socket.socket(family, kind); got()
        except OSError: pass
""",
    "sockets by io_uring": "libc.syscall(425, 1, ctypes.create_string_buffer(120)) >= 0 and got()",
    "terminal": "os.open('/dev/tty', os.O_RDWR); got()",
    "inherited files": "len(os.listdir('/proc/self/fd')) > 4 and got()",
    # mounts
    "unmount": "sh(f\"umount {T['home']}; umount -l /tmp; umount -l /run\"); open(T['secret']).read() and got()",
    "remount": "sh(f\"mount -o remount,rw,bind {T['checkout']}; mount -o remount,rw /\"); creates(T['checkout'])",
    "remount in a user namespace": """
sh(f"unshare -Urm sh -c 'umount -l {T['home']}; mount -o remount,rw,bind {T['checkout']}; "
   f"touch {T['checkout']}/attack; cat {T['secret']} && touch leaked'")
os.path.exists("leaked") and got()
os.path.exists(T["checkout"] + "/attack") and got()
""",
    "new /proc in a user namespace": """
sh("unshare -Urpfm --mount-proc sh -c 'exec 3>>/proc/sys/kernel/core_pattern && touch leaked'")
os.path.exists("leaked") and got()
""",
    "control groups in a namespace": """
sh("unshare -UrmC sh -c 'mkdir /tmp/g; mount -t cgroup2 none /tmp/g && touch leaked'")
sh("unshare -UrmC sh -c 'mkdir /tmp/g; mount -t cgroup -o freezer none /tmp/g && touch leaked'")
os.path.exists("leaked") and got()
""",
    "bind mount without what covers it": """
for place in ("/", os.path.dirname(T["home"]), T["home"]):
    out = sh(f"mkdir -p m; unshare -Urm sh -c 'mount --bind {place} m && cat m{T['secret']} m/home/secret m/secret'")
    "secret" in out and got()
""",
    "overlay without what covers it": """
for place in ("/", os.path.dirname(T["home"]), T["home"]):
    mount = f"mount -t overlay none -o lowerdir={place}:/usr m"
    "secret" in sh(f"mkdir -p m; unshare -Urm sh -c '{mount} && cat m{T['secret']} m/home/secret m/secret'") and got()
""",
    "tree of mounts without what covers it": """
libc.unshare(0x10000000 | 0x20000)
for place in ("/", os.path.dirname(T["home"]), T["home"]):
    fd = libc.syscall(428, -100, place.encode(), 1)  # open_tree, with a clone
    for name in (T["secret"].lstrip("/"), "home/secret", "secret") if fd >= 0 else ():
        try: os.open(name, os.O_RDONLY, dir_fd=fd); got()
        except OSError: pass
""",
    "old root": "sh('unshare -Urm pivot_root . . ; ls /oldroot'); os.path.exists('/oldroot') and got()",
    # markers
    "remove the marker": """
for place in T["markers"]:
    sh(f"rm -rf {place}; mv {place} {place}-old; umount {place}; rmdir {place}")
all(os.path.exists(place) for place in T["markers"]) or got()
""",
    "decide": "subprocess.run(T['burnish'], env=T['clean'], capture_output=True).returncode == 0 and got()",
    "decide with the markers covered": """
cover = "; ".join(f"mount -t tmpfs none {os.path.dirname(place)}" for place in T["markers"])
argv = ["unshare", "-Urpfm", "sh", "-c", f'{cover}; exec "$@"', "sh", *T["burnish"]]
subprocess.run(argv, env=T["clean"], capture_output=True).returncode == 0 and got()
""",
}


# Some attacks would end every process of the machine if they succeeded. They act in a PID namespace of their own alone.
HARMLESS = """
import os, sys
if os.readlink("/proc/self/ns/pid") == {namespace!r}:
    print("GOT the PID namespace of the machine")
    sys.exit(9)
"""


def only_in_a_namespace(code: str) -> str:
    """The program, which ends at once (with GOT) where it shares the PID namespace of the caller."""
    return HARMLESS.format(namespace=os.readlink("/proc/self/ns/pid")) + code  # noqa: PTH115


def attack(name: str, targets: dict[str, object]) -> str:
    """The program, with what it aims at. That it is stopped by an error is what is hoped for."""
    body = "".join(f"    {line}\n" for line in ATTACKS[name].strip().splitlines())
    return f"T = {targets!r}\n{_HEAD}\ntry:\n{body}except Exception as error:\n    print(type(error).__name__, error)\n"
