"""However much is printed, the log has its cap and memory stays small (promise 11)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.proc.run import run
from burnish.proc.shim import MARKER, SMALLEST_CAP, Log
from testing.long_forms import examples

MEGABYTES = 1024 if os.environ.get("BURNISH_TORTURE") else 200
FLOOD = """
import os, resource, sys
from pathlib import Path
from burnish.proc.run import *
root, megabytes = Path(sys.argv[1]), sys.argv[2]
child = '''
import os, sys, time
data = (bytes(range(128, 256)) + b"\\\\x1b]0;a title\\\\x07\\\\x1b[31m") * 8000
data = data.replace(b"\\\\n", b"")[: 1 << 20]
os.write(1, b"BEGIN")
for _ in range(int(sys.argv[1])): sys.stdout.buffer.write(data)
sys.stdout.flush(); time.sleep(0.6)  # live output is told four times a second: a fast machine may be done sooner
sys.stdout.buffer.write(b"END"); sys.stdout.flush()
'''
heard = []
argv = (sys.executable, "-I", "-S", "-c", child, megabytes)
done = run(Command(argv, root, {}, root / "call", cap_bytes=8_000_000), on_output=heard.append)
text = read_text(done.stdout, limit=4_000_000)
# not ru_maxrss of ourselves: it starts with the peak of the process that forked us
status = Path("/proc/self/status")
own = int(status.read_text().split("VmHWM:")[1].split()[0]) if status.exists() else 0
peak = [own // 1024, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024]
import json; print(json.dumps([peak, done.stdout_bytes, done.exit_code, text[:5], text[-3:], len(heard)]))
"""


@pytest.mark.attacks("flood the output", 1)
def test_a_flood_without_newlines_or_sense_stays_on_disk_and_within_its_cap(bench) -> None:
    argv = [sys.executable, "-c", FLOOD, str(bench.root), str(MEGABYTES)]
    said = subprocess.run(argv, capture_output=True, timeout=300)

    (runner, shim), total, code, begin, end, heard = json.loads(said.stdout)
    assert (code, begin, end) == (0, "BEGIN", "END")
    assert total > MEGABYTES * 1_000_000
    assert (bench.call_dir / "stdout").stat().st_size == 8_000_000
    assert runner < 200 and shim < 60, (runner, shim)
    assert heard >= 1


def test_what_was_left_out_is_told_to_the_byte(bench) -> None:
    code = "import sys; sys.stdout.write('a' * 10_000 + 'b' * 90_000 + 'c' * 10_000)"

    done = run(bench.python(code, cap_bytes=20_000))

    kept = done.stdout.read_bytes()
    assert len(kept) == 20_000
    assert kept.startswith(b"a" * 5000) and kept.endswith(b"b" * 1000 + b"c" * 10_000)
    left_out = re.search(rb"\n\[burnish: +(\d+) bytes left out here\]\n", kept)
    assert left_out is not None
    assert int(left_out[1]) + len(kept) - len(left_out[0]) == done.stdout_bytes == 110_000


def test_output_that_fits_is_kept_byte_for_byte(bench) -> None:
    done = run(bench.python("import sys; sys.stdout.write('x' * 5000)", cap_bytes=5000))

    assert done.stdout.read_bytes() == b"x" * 5000


@settings(max_examples=examples(60), deadline=None)
@given(
    parts=st.lists(st.integers(min_value=1, max_value=3000), max_size=12),
    cap=st.integers(min_value=1, max_value=4000),
)
def test_a_log_is_the_stream_or_its_head_and_tail(
    tmp_path_factory: pytest.TempPathFactory, parts: list[int], cap: int
) -> None:
    path = tmp_path_factory.getbasetemp() / f"log-{os.getpid()}"
    stream = bytes(number % 251 for number in range(sum(parts)))
    cap = max(cap, SMALLEST_CAP)
    log, start = Log(str(path), cap), 0
    for part in parts:
        log.write(stream[start : start + part])
        start += part
    log.close()

    kept = Path(path).read_bytes()
    if len(stream) <= cap:
        assert kept == stream
        return
    head = cap // 4
    tail = cap - head - len(MARKER % 0)
    assert kept == stream[:head] + MARKER % (len(stream) - head - tail) + stream[-tail:]
    assert len(kept) == cap
