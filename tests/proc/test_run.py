"""A program under the shim ends as it would without, and leaves word of it on disk."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from burnish.errors import BurnishError
from burnish.proc.run import (
    SHIM,
    DiskFull,
    ProgramMissing,
    StopToken,
    finished_call,
    run,
    wait_for_orphans,
)
from burnish.proc.shim_files import outcome_file


@pytest.mark.parametrize("code", [0, 1, 3, 127, 255])
def test_the_exit_code_is_the_programs_own(bench, code: int) -> None:
    done = run(bench.python(f"raise SystemExit({code})"))

    assert (done.exit_code, done.signal, done.ended) == (code, None, "exit")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_program_that_dies_of_a_signal_says_which(bench, number: int) -> None:
    done = run(bench.python(f"import os; os.kill(os.getpid(), {int(number)})"))

    assert (done.exit_code, done.signal, done.ended) == (None, number, "exit")


def test_stdout_and_stderr_are_kept_apart(bench) -> None:
    done = run(bench.python("import sys; print('out'); print('err', file=sys.stderr)"))

    assert (done.stdout.read_text(), done.stderr.read_text()) == ("out\n", "err\n")
    assert (done.stdout_bytes, done.stderr_bytes) == (4, 4)
    assert done.stdout.stat().st_mode & 0o777 == 0o600


def test_a_large_prompt_arrives_whole(bench) -> None:
    prompt = bench.root / "prompt.md"
    prompt.write_bytes(os.urandom(1 << 20) * 5)
    code = "import sys, hashlib; print(hashlib.file_digest(sys.stdin.buffer, 'sha256').hexdigest())"

    done = run(bench.python(code, stdin=prompt))

    expected = subprocess.run(["sha256sum", prompt], capture_output=True, check=True).stdout.split()[0]
    assert done.stdout.read_bytes().strip() == expected


def test_without_a_prompt_stdin_is_empty(bench) -> None:
    assert run(bench.python("import sys; print(repr(sys.stdin.read()))")).stdout.read_text() == "''\n"


def test_the_environment_is_the_given_one_and_nothing_else(bench) -> None:
    env = {"ONLY": "this", "ODD": "a\udcffb\n=", "PATH": os.environ["PATH"]}

    done = run(bench.python("", argv=("env", "-0"), env=env))

    seen = dict(pair.split(b"=", 1) for pair in done.stdout.read_bytes().split(b"\0") if pair)
    assert seen == {name.encode(): os.fsencode(value) for name, value in env.items()}


def test_it_stands_where_it_was_put_in_a_session_of_its_own_with_ordinary_signals(bench) -> None:
    (bench.root / "there").mkdir()
    code = (
        "import os, signal; print(os.getcwd()); print(os.getsid(0) == os.getpid());"
        "print([s.name for s in signal.valid_signals() if s != signal.SIGINT and "
        "isinstance(s, signal.Signals) and signal.getsignal(s) == signal.SIG_IGN]);"
        "print(signal.pthread_sigmask(signal.SIG_BLOCK, ()))"
    )
    where = bench.root / "there"

    done = run(bench.python(code, cwd=where))

    # Python itself ignores these two, in every program
    assert done.stdout.read_text().splitlines() == [str(where), "True", "['SIGPIPE', 'SIGXFSZ']", "set()"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_the_program_inherits_three_files_and_not_the_lock(bench) -> None:
    command = bench.python("", argv=("ls", "/proc/self/fd"), lock_file=bench.root / "lock")

    assert run(command).stdout.read_text().split() == ["0", "1", "2", "3"]  # 3 is the listing itself


@pytest.mark.parametrize("program", ["no-such-program-anywhere", "/no/such/file", "{root}"])
def test_a_missing_program_is_said_to_be_missing(bench, program: str) -> None:
    command = bench.python("", argv=(program.format(root=bench.root),))

    with pytest.raises(ProgramMissing) as caught:
        run(command)
    assert program.format(root=bench.root) in caught.value.what
    assert caught.value.hint


def test_a_hang_ends_at_the_timeout(bench) -> None:
    started = time.monotonic()

    done = run(bench.python("import time; time.sleep(99)", timeout_seconds=0.5))

    assert done.ended == "timeout"
    assert 0.5 <= time.monotonic() - started < 60
    assert finished_call(bench.call_dir) is None  # a timeout is no answer


def test_the_outcome_is_on_disk_for_whoever_comes_later(bench) -> None:
    done = run(bench.python("print('hi'); raise SystemExit(2)"))

    assert finished_call(bench.call_dir) == done
    outcome = json.loads(outcome_file(bench.call_dir).read_text())
    keys = {"exit_code", "signal", "seconds", "ended", "stdout_bytes", "stderr_bytes", "oom", "started"}
    assert set(outcome) == keys


WAIT_FOR_GO = """
import pathlib, time
print('ready', flush=True)
while not pathlib.Path('go').exists(): time.sleep(.02)
"""


def test_a_call_that_had_ended_when_burnish_was_killed_is_on_record(bench) -> None:
    """burnish is frozen before the program ends, and killed without ever having heard of it."""
    code = WAIT_FOR_GO + "print('paid for')"
    runner = subprocess.Popen([sys.executable, "-c", RUNNER, code, str(bench.root)])
    bench.wait_until_ready()
    runner.send_signal(signal.SIGSTOP)
    (bench.root / "go").touch()
    deadline = time.monotonic() + 60
    while not outcome_file(bench.call_dir).exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    runner.kill()
    runner.wait()

    assert wait_for_orphans(bench.root / "lock")
    done = finished_call(bench.call_dir)
    assert done is not None and done.exit_code == 0
    assert done.stdout.read_text() == "ready\npaid for\n"


RUNNER = """
import os, sys
from pathlib import Path
from burnish.proc.run import Command, run
code, root = sys.argv[1], Path(sys.argv[2])
run(Command((sys.executable, "-I", "-S", "-c", code), root, {}, root / "call", lock_file=root / "lock"))
"""


@pytest.mark.parametrize("text", ["", "{", "[]", '{"ended": "orphaned"}', '{"ended": "stopped", "exit_code": 0}'])
def test_a_damaged_or_other_outcome_is_no_answer(bench, text: str) -> None:
    outcome_file(bench.call_dir).write_text(text)

    assert finished_call(bench.call_dir) is None


def test_an_old_outcome_does_not_survive_a_new_call(bench) -> None:
    run(bench.python("print(1)"))

    run(bench.python("import time; time.sleep(99)", timeout_seconds=0.2))

    assert finished_call(bench.call_dir) is None


def test_orphans_are_waited_for_while_a_shim_holds_the_lock(bench) -> None:
    lock, stop = bench.root / "lock", StopToken()
    command = bench.python("print('ready', flush=True); import time; time.sleep(99)", lock_file=lock)
    thread = threading.Thread(target=lambda: run(command, stop=stop))
    assert wait_for_orphans(lock)  # there is none yet
    thread.start()
    bench.wait_until_ready()

    assert not wait_for_orphans(lock, seconds=0.2)
    stop.request()
    assert wait_for_orphans(lock)
    thread.join()


def test_two_programs_may_hold_one_lock(bench) -> None:
    (bench.root / "other").mkdir()
    lock = bench.root / "lock"
    # each ends well only if the other one runs meanwhile
    code = """
import pathlib, sys, time
pathlib.Path('MINE').touch()
end = time.monotonic() + 60
while not pathlib.Path('OTHER').exists() and time.monotonic() < end: time.sleep(.02)
sys.exit(not pathlib.Path('OTHER').exists())
"""
    commands = [
        bench.python(code.replace("MINE", "a").replace("OTHER", "b"), lock_file=lock),
        bench.python(code.replace("MINE", "b").replace("OTHER", "a"), lock_file=lock, call_dir=bench.root / "other"),
    ]
    codes: list[int | None] = []
    threads = [threading.Thread(target=lambda one=one: codes.append(run(one).exit_code)) for one in commands]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert codes == [0, 0]


def test_live_output_is_heard_at_most_four_times_a_second(bench) -> None:
    heard: list[str] = []
    code = "import time\nfor n in range(100): print('line', n, flush=True); time.sleep(.01)"

    started = time.monotonic()
    run(bench.python(code), on_output=heard.append)

    assert 2 <= len(heard) <= 4 * (time.monotonic() - started) + 2
    assert "line 0" in heard[0]


@pytest.mark.slow
def test_live_output_has_whole_words_only(bench) -> None:
    """A part of a secret could not be found any more."""
    heard: list[str] = []
    pause = "time.sleep(.6)"
    code = f"""
import os, time
os.write(1, b"tangerine" + b" y" * 498); {pause}
os.write(1, b" one tange"); {pause}
os.write(1, b"rine two\\n"); {pause}
"""
    run(bench.python(code), on_output=heard.append)
    words = {word for text in heard for word in text.split()}
    assert words <= {"y", "one", "tangerine", "two"} and {"one", "two"} <= words, words


def test_after_a_stop_nothing_new_is_started(bench) -> None:
    stop = StopToken()
    stop.request()

    done = run(bench.python("open('here', 'w')"), stop=stop)

    assert done.ended == "stopped"
    assert not (bench.root / "here").exists()


def test_one_stop_reaches_all_programs_of_a_run(bench) -> None:
    stop = StopToken()
    threads = []
    for number in range(3):
        folder = bench.root / str(number)
        folder.mkdir()
        command = bench.python("import time; time.sleep(99)", call_dir=folder)
        threads.append(threading.Thread(target=run, args=(command,), kwargs={"stop": stop}))
        threads[-1].start()
    time.sleep(0.3)
    stop.request()
    for thread in threads:
        thread.join(60)

    assert not any(thread.is_alive() for thread in threads)
    assert bench.alive() == []


def test_output_that_cannot_be_kept_is_a_full_disk_and_ends_the_program(bench, tmp_path: Path) -> None:
    """A limit on the size of files stands in for the full disk: the shim cannot write on."""
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "from burnish.proc.run import *; from pathlib import Path\n"
        "root = Path(sys.argv[1])\n"
        "child = \"import os\\nwhile True: os.write(1, b'x' * 5000)\"\n"
        "argv, env = (sys.executable, '-I', '-S', '-c', child), {'MARK': sys.argv[2]}\n"
        "try: run(Command(argv, root, env, root / 'call'))\n"
        "except DiskFull as full: print(full.what)\n"
    )

    said = subprocess.run([sys.executable, "-c", code, str(tmp_path), bench.mark], capture_output=True, timeout=20)

    assert said.stdout.startswith(b"No space to store the output of"), said.stderr
    assert bench.alive() == []
    assert DiskFull.exit_code == 3


def test_the_shim_starts_fast_because_it_imports_little() -> None:
    argv = [sys.executable, "-I", "-S", "-X", "importtime", SHIM]
    said = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stderr

    imported = {line.rpartition("|")[2].strip() for line in said.splitlines()}
    assert "select" in imported
    assert not imported & {
        "json",
        "typing",
        "subprocess",
        "pathlib",
        "contextlib",
        "asyncio",
        "threading",
        "re",
    }


@pytest.mark.parametrize("broken", ["cwd", "call_dir"])
def test_a_directory_that_is_gone_is_named(bench, broken: str) -> None:
    gone = bench.root / "gone"

    with pytest.raises(BurnishError, match="directory") as caught:
        run(bench.python("", **{broken: gone}))
    assert str(gone) in f"{caught.value.what} {caught.value.hint}"
    assert not isinstance(caught.value, ProgramMissing)


def test_a_program_of_which_there_was_enough_is_ended_and_did_not_finish(bench, monkeypatch) -> None:
    monkeypatch.setattr("burnish.proc.run._LOOK_EVERY", 0.05)
    looked = []

    def enough(is_due: bool) -> bool:
        printed = bench.call_dir / "stdout"
        looked.append(printed.read_text() if printed.exists() else "")
        return "again" in looked[-1]

    code = "import time; print('begun', flush=True); time.sleep(0.3); print('again', flush=True); time.sleep(60)"
    done = run(bench.python(code), enough=enough)

    assert done.ended == "enough" and done.seconds < 20 and not bench.alive()
    assert len(looked) > 1 and finished_call(bench.call_dir) is None
    assert run(bench.python("print('again')"), enough=lambda is_due: False).ended == "exit"


def test_whether_there_was_enough_is_asked_at_each_line_and_not_only_from_time_to_time(bench, monkeypatch) -> None:
    monkeypatch.setattr("burnish.proc.run._LOOK_EVERY", 60.0)
    lines = []

    def enough(is_due: bool) -> bool:
        lines.append((bench.call_dir / "stdout").read_text().count("\n"))
        return lines[-1] >= 3

    prints = "import signal, time\nfor n in range(%d): print(n, flush=True); time.sleep(0.1)\n"
    done = run(bench.python(prints % 3 + "time.sleep(60)"), enough=enough)
    assert done.ended == "enough" and done.seconds < 10 and lines[-1] == 3

    # what ends by itself at once has printed its last message
    assert run(bench.python(prints % 3), enough=enough).ended == "exit"

    # and what goes on although it was told to end gets no more time
    done = run(bench.python("import signal; signal.signal(15, signal.SIG_IGN)\n" + prints % 600), enough=enough)
    assert done.ended == "enough" and done.signal == 9 and done.seconds < 2.5
