"""Starts a program and passes its output on, without lines that begin in a given way. Started by the runner.

    line_filter [--pipe-stdin] PREFIX… -- PROGRAM [ARGUMENT…]

For programs that print the whole message again with each word of it: an hour of work would be gigabytes. `*` in a
PREFIX is up to 40 characters without a quotation mark. `--pipe-stdin`: the program gets a pipe in place of a file.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import threading
from typing import BinaryIO

# What is still in the pipe when the program has ended. A process that it left behind may keep the pipe open.
CLOSING_SECONDS = 2.0
PIPE_STDIN = "--pipe-stdin"


def pattern_of(prefixes: list[str]) -> re.Pattern[bytes]:
    parts = ('[^"]{0,40}'.join(map(re.escape, prefix.split("*"))) for prefix in prefixes)
    return re.compile("|".join(parts).encode())


def pass_on(source: BinaryIO, repeats: re.Pattern[bytes]) -> None:
    for line in source:
        if not repeats.match(line):
            os.write(1, line)


def feed(target: BinaryIO) -> None:
    # a program that ends early does not read all of it
    with contextlib.suppress(BrokenPipeError), target:
        shutil.copyfileobj(sys.stdin.buffer, target)


def main() -> None:
    words = sys.argv[1:]
    end = words.index("--")
    by_pipe = words[0] == PIPE_STDIN
    repeats = pattern_of(words[by_pipe:end])
    stdin = subprocess.PIPE if by_pipe else None
    with subprocess.Popen(words[end + 1 :], stdin=stdin, stdout=subprocess.PIPE) as program:
        assert program.stdout
        if program.stdin:
            threading.Thread(target=feed, args=(program.stdin,), daemon=True).start()
        reader = threading.Thread(target=pass_on, args=(program.stdout, repeats), daemon=True)
        reader.start()
        code = program.wait()
        reader.join(CLOSING_SECONDS)
        # at once: the thread may wait for a process that was left behind
        os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
