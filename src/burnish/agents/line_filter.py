"""Starts a program and passes its output on, without lines that begin in a given way. Started by the runner.

    line_filter PREFIX… -- PROGRAM [ARGUMENT…]

For programs that print the whole message again with each word of it: an hour of work would be gigabytes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import BinaryIO

# What is still in the pipe when the program has ended. A process that it left behind may keep the pipe open.
CLOSING_SECONDS = 2.0


def pass_on(source: BinaryIO, prefixes: tuple[bytes, ...]) -> None:
    for line in source:
        if not line.startswith(prefixes):
            os.write(1, line)


def main() -> None:
    words = sys.argv[1:]
    end = words.index("--")
    prefixes = tuple(word.encode() for word in words[:end])
    with subprocess.Popen(words[end + 1 :], stdout=subprocess.PIPE) as program:
        assert program.stdout
        reader = threading.Thread(target=pass_on, args=(program.stdout, prefixes), daemon=True)
        reader.start()
        code = program.wait()
        reader.join(CLOSING_SECONDS)
        # at once: the thread may wait for a process that was left behind
        os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
