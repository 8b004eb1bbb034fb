"""Short programs: their end is noticed at once, and a time limit still holds."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from burnish.errors import BurnishError
from burnish.proc.capture import Captured, Program, TooMuchOutput, capture

# ends after its output, so that the end of the output is not the end of the process
SILENT_END = ["/bin/sh", "-c", "echo out; exec >&- 2>&-; sleep 0.2; exit 3"]
ENV = {"PATH": os.defpath}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pidfd_open is a call of Linux")
def test_the_end_of_a_program_is_not_looked_for_in_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    def sleep(seconds: float) -> None:
        raise AssertionError(f"slept for {seconds} s")

    monkeypatch.setattr(time, "sleep", sleep)
    result = capture(SILENT_END, cwd=Path("/"), env=ENV)
    assert (result.exit_code, result.stdout) == (3, b"out\n")


def test_without_pidfd_the_result_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    result = capture(SILENT_END, cwd=Path("/"), env=ENV)
    assert (result.exit_code, result.stdout) == (3, b"out\n")


def test_a_program_that_does_not_end_is_killed_after_its_time() -> None:
    begin = time.monotonic()
    with pytest.raises(BurnishError, match=r"did not finish within 0\.3 seconds"):
        capture(["/bin/sh", "-c", "exec >&- 2>&-; sleep 30"], cwd=Path("/"), env=ENV, timeout=0.3)
    assert time.monotonic() - begin < 10


def test_a_time_limit_of_waiting_holds_and_the_process_goes_on() -> None:
    with Program(["/bin/sh", "-c", "sleep 0.5; exit 4"]) as program:
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(0.05)
        assert program.wait(20) == 4 and program.wait(0) == 4


LIMIT = 1024 * 1024


def limited(program: str, stdin: bytes = b"", timeout: float = 30) -> Captured:
    argv = [sys.executable, "-I", "-S", "-c", program]
    return capture(argv, cwd=Path("/"), env=ENV, stdin=stdin, timeout=timeout, max_bytes=LIMIT)


def test_input_output_and_exit_code_are_passed_on() -> None:
    text = bytes(range(256)) * 2000
    program = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()); sys.stderr.write('x'); sys.exit(3)"
    assert limited(program, text) == Captured(3, text, b"x")


def test_a_program_that_does_not_read_its_input_still_answers() -> None:
    assert limited("import os; os.close(0); print('done')", b"x" * LIMIT).stdout == b"done\n"


@pytest.mark.attacks("endless answers of gh and git", 3)
@pytest.mark.parametrize("stream", ["stdout", "stderr", "stdout.flush() or sys.stderr"])
def test_a_program_that_prints_without_end_is_ended(stream: str) -> None:
    begin = time.monotonic()
    with pytest.raises(TooMuchOutput, match="printed more than 1 MB"):
        limited(f"import sys\nwhile True: sys.{stream}.write('x' * 1000)")
    assert time.monotonic() - begin < 20


def test_a_program_that_closes_its_output_and_goes_on_meets_the_time_limit() -> None:
    with pytest.raises(BurnishError, match="did not finish within 1 seconds"):
        limited("import os, time; os.close(1); os.close(2); time.sleep(60)", timeout=1)
