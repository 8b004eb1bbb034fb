"""Finds the lines that match a pattern. Runs in its own process, so that the parent can stop a slow pattern.

Reads JSON from stdin: `{"pattern", "files", "most"}`; writes the names of the failures as a JSON list.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

MAX_LINE_LENGTH = 4096
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def find_names(pattern: str, files: list[str], most: int) -> list[str]:
    regex = re.compile(pattern)
    names: list[str] = []
    for path in files:
        with Path(path).open("rb") as file:
            while len(names) < most and (raw := file.readline(MAX_LINE_LENGTH)):
                match = regex.search(_COLOUR.sub("", raw.decode("utf-8", "replace").rstrip("\r\n")))
                if match and (name := (match["name"] or "").strip()):
                    names.append(name)
    return names


if __name__ == "__main__":
    request = json.load(sys.stdin)
    json.dump(find_names(request["pattern"], request["files"], request["most"]), sys.stdout)
