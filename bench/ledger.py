"""How well the ledger keeps findings apart and together: `python -m bench.ledger [histories] [seed]`."""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass

from burnish.core.finding import Finding
from burnish.core.ledger.ledger import absorb_review
from burnish.core.review import Ruling, RulingState
from testing.histories import Round, history


@dataclass(frozen=True, slots=True)
class Score:
    """Over all pairs of remarks of a history: same problem in truth, same id in the ledger."""

    histories: int
    remarks: int
    right: int
    wrongly_one: int
    wrongly_two: int

    @property
    def precision(self) -> float:
        return self.right / max(self.right + self.wrongly_one, 1)

    @property
    def recall(self) -> float:
        return self.right / max(self.right + self.wrongly_two, 1)


def replay(rounds: list[Round]) -> list[tuple[int, str]]:
    """Every remark of a history: the problem it speaks of, the id that the ledger gave it."""
    findings: tuple[Finding, ...] = ()
    known: dict[int, str] = {}
    told: list[tuple[int, str]] = []
    for cycle, review in enumerate(rounds, 1):
        rulings = [Ruling(known[n], RulingState.RESOLVED) for n in review.fixed if n in known]
        rulings += [Ruling(known[n], RulingState.OPEN) for n in review.ruled_open if n in known]
        update = absorb_review(
            findings,
            remarks=review.remarks,
            rulings=tuple(rulings),
            cycle=cycle,
            delta=review.delta,
            files=review.texts.get,
        )
        findings = update.findings
        told += zip(review.truth, update.given, strict=True)
        known |= dict(zip(review.truth, update.given, strict=True))
    return told


def score(histories: int, seed: int = 1) -> Score:
    totals: Counter[str] = Counter()
    for number in range(histories):
        told = replay(history(seed * 1_000_003 + number))
        totals["remarks"] += len(told)
        for i, (problem, id) in enumerate(told):
            for other_problem, other_id in told[:i]:
                truly, held = problem == other_problem, id == other_id
                totals["right"] += truly and held
                totals["wrongly_one"] += held and not truly
                totals["wrongly_two"] += truly and not held
    return Score(histories, totals["remarks"], totals["right"], totals["wrongly_one"], totals["wrongly_two"])


def main() -> None:
    histories = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    started = time.perf_counter()
    result = score(histories, seed)
    seconds = time.perf_counter() - started
    print(f"histories    {result.histories}, {result.remarks} remarks, {seconds:.1f} s")
    print(f"precision    {result.precision:.4f}  ({result.wrongly_one} pairs wrongly one)")
    print(f"recall       {result.recall:.4f}  ({result.wrongly_two} pairs wrongly two)")


if __name__ == "__main__":
    main()
