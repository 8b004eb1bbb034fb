"""Supervises one program: when the program ends, its time is up, or burnish ends, the shim ends the whole
process tree.

Started as `python -I -S shim.py`. The order comes on stdin, then single letters (see `OBEY`); end of file
there means that burnish ended. Messages for burnish go to stdout. Only cheap imports (no pathlib, contextlib, json,
typing), and other files (`sandbox_entry`, `inner_program`, `disk_sync`, `oom_events`) only if needed, because this runs
on every call.
"""
# ruff: noqa: PTH100, PTH104, PTH118, PTH120, PTH123, PTH208, SIM105

from __future__ import annotations

import marshal
import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import Any
else:
    # The same functions with plain numbers: `signal` imports `enum`, which takes a third of the start-up time.
    import _signal as signal

# On a stop the processes have three seconds to clean up. Left-over processes of a finished program have one.
GRACE, LEFTOVER_GRACE = 3.0, 1.0
# A process that cannot be killed (of another user, or stuck in the kernel) must not block the shim forever.
GIVE_UP = 4.0
LIVE_EVERY = 0.25
# the shortest time between two messages that there are new lines
NEWS_EVERY = 0.01
# the interval of looks at the program inside of a sandbox
LOOK_EVERY = 2.0
# between words
GAPS = (b"\n", b" ", b",", b'"', b"\t", b"'")
OBEY = {b"t": ("stopped", GRACE), b"k": ("stopped", 0.0), b"o": ("timeout", GRACE), b"e": ("enough", GRACE)}
OURS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
MARKER = b"\n[burnish: %15d bytes left out here]\n"
SMALLEST_CAP = 1024
CHUNK = 1 << 18
NEVER = float("inf")


class Log:
    """A file of at most `cap` bytes with the head and the tail of a stream of any length."""

    def __init__(self, path: str, cap: int) -> None:
        self.path, self.cap = path, max(cap, SMALLEST_CAP)
        self.head, self.total = self.cap // 4, 0
        self.fd = open_new(path)

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            at = self.place(self.total)
            wrote = os.pwrite(self.fd, view[: self.cap - at], at)
            self.total += wrote
            view = view[wrote:]

    def place(self, position: int) -> int:
        """The offset of a byte of the stream: after the head the file is a ring buffer."""
        if position < self.cap:
            return position
        return self.head + (position - self.head) % (self.cap - self.head)

    def close(self) -> None:
        if self.total > self.cap:
            self.straighten()
        os.close(self.fd)

    def straighten(self) -> None:
        """Rewrite the file as head, a line about the missing part, and tail: exactly `cap` bytes."""
        tail = self.cap - self.head - len(MARKER % 0)
        whole = open_new(self.path + ".whole")
        self.copy(whole, 0, self.head)
        write_all(whole, MARKER % (self.total - self.head - tail))
        self.copy(whole, self.total - tail, self.total)
        os.rename(self.path + ".whole", self.path)
        os.close(self.fd)
        self.fd = whole

    def copy(self, to: int, start: int, end: int) -> None:
        while start < end:
            at = self.place(start)
            data = os.pread(self.fd, min(CHUNK, end - start, self.cap - at), at)
            write_all(to, data)
            start += len(data)


def open_new(path: str) -> int:
    """Create a new file; a pipe created there by the program would block."""
    if os.path.lexists(path):
        os.unlink(path)  # noqa: PTH108  (`pathlib` is slow to load)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def prctl(option: int, value: int) -> bool:
    """Call prctl on Linux; elsewhere only the process group is used."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)


def adopt_orphans() -> bool:
    """PR_SET_CHILD_SUBREAPER: orphaned descendants become children of the shim, even after a double fork and setsid."""
    return prctl(36, 1)


def children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
    except OSError:
        pass  # it has just ended, or there is no /proc
    return found


def descendants(pid: int) -> list[int]:
    """Everything below a process, parents before children. Empty where there is no /proc."""
    found = children(pid)
    for child in found:  # grows as we go
        found += children(child)
    return found


def send(pid: int, number: int, *, group: bool = False) -> None:
    try:
        (os.killpg if group else os.kill)(pid, number)
    except OSError:
        pass  # ended already, or not permitted


def signal_tree(top: int, main: int, number: int, *, spare: bool = False) -> None:
    """Signal the main program's group and all descendants of `top`. Signalling a group cannot race with forks."""
    if spare and number != signal.SIGKILL:
        # The signal would end bubblewrap and kill its processes at once: signal only those, so that they can clean up.
        for pid in descendants(top):
            if pid != main:
                send(pid, number)
        return
    send(main, number, group=True)
    own = group_of(top)
    for pid in descendants(top):
        group = group_of(pid) if number == signal.SIGKILL else own
        if group != own:
            send(group, number, group=True)
        send(pid, number)


def group_of(pid: int) -> int:
    """The process group; for an ended process its own pid, which is not a group."""
    try:
        return os.getpgid(pid)
    except OSError:
        return pid


class Shim:
    """One program and everything it starts."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.order = order
        self.subreaper = adopt_orphans()
        self.started = time.monotonic()
        self.deadline = self.started + order["timeout"]
        self.main = 0
        self.status: int | None = None  # of the main program, once it has ended
        self.seconds = 0.0
        self.ended = ""  # why the process tree is being ended
        self.kill_at: float | None = None
        self.trouble: OSError | None = None
        self.oom_before = beside("oom_events").oom_kills() if order["counts_oom"] else 0
        self.logs: dict[int, Log] = {}
        self.names: dict[str, Log] = {}
        # is_cut: a part before the latest output is left out
        self.latest, self.is_cut, self.live_at = b"", False, 0.0
        self.has_news, self.news_at = False, 0.0
        self.inner: Any = None
        # where bubblewrap reports the end of a program that it has started, and whether there was one
        self.reports, self.was_started = -1, not order["wrapped"]
        self.look_at = self.started + (LOOK_EVERY if order["wrapped"] else NEVER)

    def start(self) -> None:
        ends = []
        for name in ("stdout", "stderr"):
            read, write = os.pipe()
            os.set_blocking(read, False)
            log = Log(os.path.join(self.order["dir"], name), self.order["cap"])
            self.logs[read] = self.names[name] = log
            ends.append(write)
        if self.order["wrapped"]:
            self.reports, write = os.pipe()
            os.set_blocking(self.reports, False)
            ends.append(write)
        self.main = spawn(self.order, *ends)
        for write in ends:
            os.close(write)
        say(b"started %d" % self.main)

    def run(self) -> None:
        self.start()
        try:
            self.watch()
            self.finish()
        except BaseException:
            signal_tree(os.getpid(), self.main, signal.SIGKILL)
            raise

    def watch(self) -> None:
        """Wait until the main program and all descendants ended."""
        poll, wake = select.poll(), wake_pipe()
        for fd in (0, wake, *self.logs):
            poll.register(fd, select.POLLIN)
        while not (self.reap() and self.status is not None) and not self.lost():
            for fd, _ in poll.poll(self.pause()):
                if fd in self.logs:
                    if not self.take(fd):
                        poll.unregister(fd)
                elif fd == wake:
                    self.woken(os.read(wake, 512))
                elif not self.obey(os.read(0, 1)):
                    poll.unregister(0)
            self.clock()

    def pause(self) -> int:
        """Milliseconds to sleep at most. Nothing to do: until the deadline."""
        now = time.monotonic()
        if self.kill_at is not None and now >= self.kill_at:
            return 2  # it may fork quickly: check again soon
        until = min(self.deadline if not self.ended else now + 60, self.kill_at or now + 3600, self.look_at)
        if self.latest:
            until = min(until, self.live_at + LIVE_EVERY)
        if self.has_news:
            until = min(until, self.news_at)
        if not self.subreaper and self.status is not None:
            until = min(until, now + 0.05)  # there is no event when the group is empty
        return max(0, int((until - now) * 1000) + 1)

    def clock(self) -> None:
        now = time.monotonic()
        if self.status is None and now >= self.deadline:
            self.end("timeout", GRACE)
        if now >= self.look_at:
            self.look_inside(now)
        if self.kill_at is not None and now >= self.kill_at:
            signal_tree(os.getpid(), self.main, signal.SIGKILL)
        if self.latest and now >= self.live_at + LIVE_EVERY:
            self.tell_live()
            self.live_at = now
        if self.has_news and now >= self.news_at:
            say(b"new")
            self.has_news, self.news_at = False, now + NEWS_EVERY

    def look_inside(self, now: float) -> None:
        """End a sandbox whose program has ended: its first process can be kept from doing that."""
        self.look_at = now + LOOK_EVERY if not self.ended else NEVER
        if self.inner is None:
            self.inner = beside("inner_program").InnerProgram(self.main, 2 if self.order["outer"] else 1)
        status = self.inner.end_status() if not self.ended else None
        if status is not None:
            self.status, self.seconds, self.was_started = status, now - self.started, True
            self.end("exit", LEFTOVER_GRACE)

    def tell_live(self) -> None:
        """Whole words only: a part of a secret could not be found any more."""
        end = max(self.latest.rfind(gap) for gap in GAPS) + 1
        text, self.latest = self.latest[:end], self.latest[end:]
        if self.is_cut and text:
            start = min(at for gap in GAPS if (at := text.find(gap)) >= 0)
            text, self.is_cut = text[start:], False
        if text.strip():
            say(b"live " + text.hex().encode())

    def reap(self) -> bool:
        """Reap ended children; True if none is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return self.subreaper or not group_lives(self.main)
            if pid == 0:
                return False
            if pid == self.main and self.status is None:
                self.status, self.seconds = status, time.monotonic() - self.started
                self.end("exit", LEFTOVER_GRACE)

    def end(self, why: str, grace: float) -> None:
        """Start to end the processes; a later call can shorten the grace period, the first reason stays."""
        kill_at = time.monotonic() + grace
        if self.kill_at is None:
            spare = bool(self.order["wrapped"]) and self.status is None
            signal_tree(os.getpid(), self.main, signal.SIGTERM if grace else signal.SIGKILL, spare=spare)
        self.kill_at = min(kill_at, self.kill_at or kill_at)
        self.ended = self.ended or why

    def obey(self, letter: bytes) -> bool:
        if not letter:
            # It may have finished at the same moment; then record that.
            self.reap()
            self.end("orphaned", GRACE)
            return False
        if letter in OBEY:
            self.end(*OBEY[letter])
        return True

    def woken(self, numbers: bytes) -> None:
        if any(number in OURS for number in numbers):
            self.end("stopped", GRACE)

    def take(self, fd: int) -> bool:
        """Copy one chunk of output into its log; False at the end of the stream."""
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return True
        if not data:
            return False
        if self.order["live"] and self.logs[fd] is self.names["stdout"]:
            latest = self.latest + data
            self.latest, self.is_cut = latest[-1000:], self.is_cut or len(latest) > 1000
        if self.trouble is None:
            try:
                self.logs[fd].write(data)
                is_line = b"\n" in data and self.logs[fd] is self.names["stdout"]
                self.has_news = self.has_news or (self.order["news"] and is_line)
            except OSError as trouble:  # the disk is full: keep reading the pipe, or the program could not end
                self.trouble = trouble
                self.end("failed", GRACE)
        return True

    def lost(self) -> bool:
        return self.kill_at is not None and time.monotonic() > self.kill_at + GIVE_UP

    def finish(self) -> None:
        """Read the rest of the pipes, then write the outcome; the message to burnish comes last."""
        until = time.monotonic() + 1.0
        for fd in self.logs:
            while select.select([fd], [], [], 0)[0] and self.take(fd) and time.monotonic() < until:
                pass
        for log in self.names.values():
            log.close()
        if self.reports >= 0 and select.select([self.reports], [], [], 0)[0]:
            # It reports no exit code if it failed before it executed the program.
            self.was_started |= b'"exit-code"' in os.read(self.reports, CHUNK)
        if self.trouble is not None:
            raise self.trouble
        if self.order["durable"]:
            beside("disk_sync").sync_file_systems((self.order["dir"], self.order["cwd"]))
        write_outcome(self.order["outcome"], self.outcome(), durable=self.order["durable"])

    def outcome(self) -> str:
        code, number = "null", "null"
        if self.status is not None and os.WIFSIGNALED(self.status):
            number = str(os.WTERMSIG(self.status))
        elif self.status is not None:
            code = str(os.WEXITSTATUS(self.status))
        out, err = self.names["stdout"].total, self.names["stderr"].total
        has_oom = self.order["counts_oom"] and beside("oom_events").oom_kills() > self.oom_before
        return (
            f'{{"exit_code": {code}, "signal": {number}, "seconds": {self.seconds:.3f}, '
            f'"ended": "{self.ended}", "stdout_bytes": {out}, "stderr_bytes": {err}, '
            f'"oom": {"true" if has_oom else "false"}, "started": {"true" if self.was_started else "false"}}}\n'
        )


def group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    return True


def spawn(order: dict[str, Any], out: int, err: int, reports: int = -1) -> int:
    """Fork and exec; errors before exec are raised here. `reports`: for the sandbox, not for the program in it."""
    error_pipe, error_end = os.pipe()
    ours, pid = os.getpid(), os.fork()
    if pid == 0:
        try:
            become(order, out, err, reports, ours)
        except OSError as problem:
            os.write(error_end, b"%d" % (problem.errno or 0))
        finally:
            os._exit(127)
    os.close(error_end)
    problem_number = os.read(error_pipe, 16)
    os.close(error_pipe)
    if problem_number:
        os.waitpid(pid, 0)
        raise NotStarted(int(problem_number))
    return pid


def become(order: dict[str, Any], out: int, err: int, reports: int, shim: int) -> None:
    """In the child: create a session, reset signals, set three descriptors, then execute the program."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    for ordinary in (*OURS, signal.SIGPIPE, signal.SIGCHLD, signal.SIGXFSZ):
        signal.signal(ordinary, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: if the shim itself is killed
    if os.getppid() != shim:
        os._exit(127)
    os.chdir(order["cwd"])
    argv, env, source = order["argv"], order["env"], order["stdin"]
    if order["wrapped"]:
        entry = beside("sandbox_entry")
        argv, env = entry.prepare(argv, env, outer=order["outer"], reports=reports)
    # Opened last: `prepare` makes /dev/null read-only.
    stdin = entry.private_copy(source) if order["wrapped"] and source else os.open(source or os.devnull, os.O_RDONLY)
    for number, fd in enumerate((stdin, out, err)):
        os.dup2(fd, number)
    os.execvpe(argv[0], argv, env)


def beside(name: str) -> Any:
    """Import a module from this folder, which `-I` excludes from the search path of other imports."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    try:
        return __import__(name)
    finally:
        del sys.path[0]


class NotStarted(OSError):
    """The program could not be executed."""


def write_outcome(path: str, text: str, *, durable: bool) -> None:
    fd = open_new(path + ".new")
    write_all(fd, text.encode())
    os.close(fd)
    replace = beside("disk_sync").replace_synced if durable else os.rename
    replace(path + ".new", path)


def wake_pipe() -> int:
    """A descriptor that receives one byte per signal, its number."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for number in (*OURS, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    return read


def say(words: bytes) -> None:
    """Send one line to burnish; ignore errors if burnish ended or is busy."""
    try:
        os.write(1, words + b"\n")
    except OSError:
        pass


def read_order() -> dict[str, Any]:
    """Read the length and the marshalled order. Both ends use the same interpreter, and json need not be imported."""
    with os.fdopen(os.dup(0), "rb", buffering=0) as file:
        data, want = b"", 8
        while len(data) < want:
            part = file.read(want - len(data))
            if not part:
                raise SystemExit(0)
            data += part
            if want == 8 and len(data) == 8:
                want += int.from_bytes(data, "big")
    order: dict[str, Any] = marshal.loads(data[8:])
    return order


def main() -> None:
    order = read_order()
    for fd in order["keep"]:
        os.set_inheritable(fd, False)
    os.set_blocking(1, False)
    try:
        Shim(order).run()
    except NotStarted as problem:
        say(b"missing %d" % problem.args[0])
    except OSError as problem:
        say(b"failed %d" % (problem.errno or 0))
    else:
        os.set_blocking(1, True)
        say(b"done")


if __name__ == "__main__":
    main()
