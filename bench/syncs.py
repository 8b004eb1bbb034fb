"""How often a run has the disk sync, by phase: on a laptop each of these takes 2 to 20 ms."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from bench.ground import Ground, ground

CALLS = ("fsync", "fdatasync", "syncfs", "sync")
_LINE = re.compile(r"^(?:\d+ +)?(\d+\.\d+) (?:<\.\.\. )?(\w+)")
# (name, start, end) in seconds since 1970
Span = tuple[str, float, float]


def main() -> None:
    if shutil.which("strace") is None:
        print("syncs: not counted, strace is not installed")
        return
    with ground(200) as place:
        place.burnish("add", "Count my syncs")
        trace = place.root / "trace"
        burnish = Path(sys.executable).parent / "burnish"
        options = ("-f", "-qq", "-ttt", "-e", f"trace={','.join(CALLS)}", "-e", "signal=none", "-o", trace)
        place.call("strace", *options, burnish, "run")
        counts = by_phase(trace.read_text(errors="replace").splitlines(), _spans(place))
    for phase in dict.fromkeys(phase for phase, _ in counts):
        kinds = {call: number for (name, call), number in counts.items() if name == phase}
        words = ", ".join(f"{number} {call}" for call, number in sorted(kinds.items()))
        print(f"  {phase:<22} {sum(kinds.values()):>4}  ({words})")
    print(f"syncs of a task with 2 cycles: {sum(counts.values())}")


def by_phase(lines: Sequence[str], spans: Sequence[Span]) -> Counter[tuple[str, str]]:
    """(phase, call) → how often, in the order of time."""
    counts: Counter[tuple[str, str]] = Counter()
    for line in lines:
        found = _LINE.match(line)
        # a call that was interrupted by another process is printed twice
        if found and found[2] in CALLS and "resumed>" not in line:
            moment = float(found[1])
            phase = next((name for name, start, end in spans if start <= moment <= end), "between phases")
            counts[phase, found[2]] += 1
    return counts


def _spans(place: Ground) -> list[Span]:
    begun: dict[tuple[int, str], float] = {}
    spans: list[Span] = []
    for event in json.loads(place.burnish("events", "--json"))["events"]:
        phase, moment = event["data"].get("phase"), datetime.fromisoformat(event["ts"]).timestamp()
        if event["type"] == "phase.started":
            begun[event["cycle"], phase] = moment
        elif event["type"] == "phase.finished" and (event["cycle"], phase) in begun:
            spans.append((f"cycle {event['cycle']}, {phase}", begun[event["cycle"], phase], moment))
    first = min((start for _, start, _ in spans), default=0.0)
    return [("before the first phase", 0.0, first), *spans]


if __name__ == "__main__":
    main()
