"""What the static reviewer finds of planted defects, and its false alarms: `python -m bench.static`."""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from burnish.core.review import Review
from testing.defects import Case, review_case
from testing.defects_clean import clean
from testing.defects_planted import planted


@dataclass(frozen=True, slots=True)
class Score:
    planted: int
    kinds: int
    missed: tuple[Case, ...]
    clean: int
    # for each clean change that was spoken of: what was said
    alarms: tuple[tuple[Case, str], ...]

    @property
    def recall(self) -> float:
        return 1 - len(self.missed) / max(self.planted, 1)


def found(case: Case, review: Review) -> bool:
    """The planted one, under its rule and at its line."""
    return any(
        remark.rule == case.rule and remark.file == case.path and case.line in (None, remark.line)
        for remark in review.remarks
    )


def score(*, every: int = 1) -> Score:
    """Every n-th case; 1 is all of them."""
    bad, good = planted()[::every], clean()[::every]
    with ThreadPoolExecutor(2) as pool, tempfile.TemporaryDirectory() as root:
        jobs = [(case, Path(root, str(number))) for number, case in enumerate([*bad, *good])]
        reviews = list(pool.map(lambda job: review_case(*job), jobs))
    pairs = list(zip([*bad, *good], reviews, strict=True))
    missed = tuple(case for case, review in pairs[: len(bad)] if not found(case, review))
    alarms = tuple(
        (case, f"{remark.severity}: {remark.rule} at {remark.line}: {remark.title}")
        for case, review in pairs[len(bad) :]
        for remark in review.remarks
    )
    return Score(len(bad), len({case.kind for case in bad}), missed, len(good), alarms)


def main() -> None:
    started = time.perf_counter()
    result = score(every=int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    seconds = time.perf_counter() - started
    print(f"planted      {result.planted} defects of {result.kinds} kinds, {seconds:.1f} s")
    print(f"recall       {result.recall:.3f}  ({len(result.missed)} missed)")
    print(f"false alarms {len(result.alarms) / max(result.clean, 1):.3f} per clean change, over {result.clean}")
    for kind, count in Counter(case.kind for case in result.missed).items():
        print(f"  missed {count} x {kind}")
    for case, words in result.alarms:
        print(f"  false alarm in {case.path} ({case.kind}): {words}")


if __name__ == "__main__":
    main()
