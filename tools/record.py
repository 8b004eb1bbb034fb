"""Run `burnish demo` on a terminal and draw what came as docs/recording.svg.

    .venv/bin/python -m tools.record

The lines appear in the rhythm in which they were printed; who does not want motion sees the end at once.
"""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

from tools.screen import Line, Screen

FILE = Path(__file__).resolve().parents[1] / "docs" / "recording.svg"
DEMO = [sys.executable, "-m", "burnish.cli", "demo"]
COLUMNS = 100
CHAR, LEADING, MARGIN, TOP = 8.4, 19, 18, 46
BACK, FRONT = "#1b1f24", "#d5dae0"
TONES = {2: "#8b949e", 31: "#ff7b72", 32: "#7ee787", 33: "#f2cc60", 34: "#79c0ff", 35: "#d2a8ff", 36: "#76e3ea"}


def record(argv: list[str]) -> tuple[int, list[Line]]:
    """Run a program on a terminal of its own; its exit code and the lines that are there at the end."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    env = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env.get('PATH', os.defpath)}"
    env |= {"TERM": "xterm-256color", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
    process = subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True)
    os.close(theirs)
    screen, decoder, start = Screen(), codecs.getincrementaldecoder("utf-8")("replace"), time.monotonic()
    # A sequence may be cut by the end of what was read: what follows an escape waits for the rest.
    left = ""
    while data := _read(ours):
        text = left + decoder.decode(data)
        cut = text.rfind("\x1b")
        whole = cut < 0 or len(text) - cut > 12
        left = "" if whole else text[cut:]
        screen.feed(text if whole else text[:cut], time.monotonic() - start)
    screen.feed(left, time.monotonic() - start)
    os.close(ours)
    lines = screen.lines
    while lines and not lines[-1].text:
        lines.pop()
    return process.wait(), lines


def _read(terminal: int) -> bytes:
    try:
        select.select([terminal], [], [])
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the last program has let go of the terminal
        return b""


def draw(lines: list[Line], title: str) -> str:
    """The lines as a picture that reads the same on a light page and on a dark one."""
    width, height = round(COLUMNS * CHAR + 2 * MARGIN), len(lines) * LEADING + TOP + MARGIN
    rows = "\n".join(_row(line, TOP + 14 + n * LEADING) for n, line in enumerate(lines) if line.text)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{title}">
<style>
text {{ font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: {FRONT}; white-space: pre }}
.bold {{ font-weight: bold; fill: #ffffff }}
@keyframes appear {{ from {{ opacity: 0 }} to {{ opacity: 1 }} }}
g {{ animation: appear .15s backwards }}
@media (prefers-reduced-motion: reduce) {{ g {{ animation: none }} }}
</style>
<rect width="{width}" height="{height}" rx="9" fill="{BACK}"/>
<circle cx="24" cy="21" r="6" fill="#57606a"/><circle cx="44" cy="21" r="6" fill="#57606a"/>
<circle cx="64" cy="21" r="6" fill="#57606a"/>
<text x="{width / 2:g}" y="26" text-anchor="middle">{title}</text>
{rows}
</svg>
"""


def _row(line: Line, y: int) -> str:
    parts, column = [], 0
    cells = line.cells[: len(line.text)]
    for tone, run in groupby(cells, key=lambda cell: cell[1]):
        text = "".join(char for char, _ in run)
        if text.strip():
            # the length is said, so that columns stand under each other whatever the font
            place = f'x="{MARGIN + column * CHAR:.1f}" y="{y}" textLength="{len(text) * CHAR:.1f}"'
            parts.append(f'<text {place}{_look(tone)} xml:space="preserve">{escape(text)}</text>')
        column += len(text)
    return f'<g style="animation-delay:{line.since:.1f}s">{"".join(parts)}</g>'


def _look(tone: tuple[int, ...]) -> str:
    colour = next((TONES[code] for code in tone if code in TONES), "")
    return (' class="bold"' if 1 in tone else "") + (f' style="fill:{colour}"' if colour else "")


def main() -> int:
    code, lines = record(DEMO)
    if code:
        sys.stderr.write("\n".join(line.text for line in lines) + f"\nexit code {code}: nothing was drawn\n")
        return code
    FILE.write_text(draw(lines, "burnish demo"), "utf-8")
    sys.stdout.write(f"{FILE.relative_to(Path.cwd())}: {len(lines)} lines\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
