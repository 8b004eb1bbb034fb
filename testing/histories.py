"""Edit histories with known identity: code that changes under a reviewer who words things anew each time.

The generator knows which remark speaks of which problem; the ledger has to find out.
"""

from __future__ import annotations

import difflib
import random
import re
from dataclasses import dataclass, replace

from burnish.core.change import Change, ChangedFile, Hunk
from burnish.core.finding import Remark
from testing.phrases import reword
from testing.world import EDITS, Problem, World, new_world


@dataclass(frozen=True, slots=True)
class Round:
    """One review of one tree."""

    texts: dict[str, str]
    delta: Change | None
    remarks: tuple[Remark, ...]
    # the problem each remark speaks of
    truth: tuple[int, ...]
    # problems that are fixed and that this reviewer says so of
    fixed: tuple[int, ...]
    # problems that it rules open by id
    ruled_open: tuple[int, ...]


def history(seed: int, *, rounds: int = 3) -> list[Round]:
    """The reviews of one task."""
    chance = random.Random(seed)
    world = new_world(chance)
    reviewers = ("one", "two") if chance.random() < 0.2 else ("one",)
    rules = chance.random() < 0.3
    told: list[Round] = []
    before: dict[str, str] | None = None
    for _ in range(rounds):
        if before is not None:
            for _ in range(chance.randint(1, 4)):
                chance.choice(EDITS)(world)
        texts = world.texts()
        delta = change(before, texts, world.renamed) if before is not None else None
        told.append(_review(world, texts, delta, reviewers, rules))
        before, world.renamed = texts, {}
    return told


def change(before: dict[str, str], after: dict[str, str], renamed: dict[str, str]) -> Change:
    """The diff between two trees, as git would give it."""
    files = []
    for path in sorted(before.keys() | after.keys()):
        old_path = renamed.get(path, path)
        old, new = before.get(old_path, ""), after.get(path, "")
        if path not in after:
            if path in renamed.values():
                continue
            status = "D"
        elif old_path not in before:
            status = "A"
        else:
            status = "R" if old_path != path else "M"
        if status != "M" or old != new:
            files.append(ChangedFile(path, status, old_path if status == "R" else None, hunks=hunks(old, new)))
    return Change("old", "new", tuple(files))


def hunks(old: str, new: str) -> tuple[Hunk, ...]:
    blocks: list[list[str]] = []
    for line in difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=3):
        if line.startswith("@@"):
            blocks.append([line])
        elif blocks:
            blocks[-1].append(line)
    found = []
    for block in blocks:
        match = re.match(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", block[0])
        assert match
        counts = [int(match[i]) if match[i] is not None else 1 for i in (1, 2, 3, 4)]
        found.append(Hunk(counts[0], counts[1], counts[2], counts[3], "\n".join(block) + "\n"))
    return tuple(found)


def _review(
    world: World, texts: dict[str, str], delta: Change | None, reviewers: tuple[str, ...], rules: bool
) -> Round:
    chance = world.chance
    said: list[tuple[Remark, int]] = []
    ruled: list[int] = []
    for problem in world.present():
        if rules and delta is not None and chance.random() < 0.7:
            ruled.append(problem.number)
            if chance.random() < 0.5:
                continue
        said += [
            (_remark(world, problem, reviewer, texts), problem.number)
            for reviewer in reviewers
            if chance.random() < 0.9
        ]
    chance.shuffle(said)
    fixed = tuple(p.number for p in world.problems if p.fixed and chance.random() < 0.7)
    return Round(texts, delta, tuple(r for r, _ in said), tuple(n for _, n in said), fixed, tuple(ruled))


def _remark(world: World, problem: Problem, reviewer: str, texts: dict[str, str]) -> Remark:
    chance = world.chance
    place = world.where(problem)
    assert place
    path, number = place
    lines = texts[path].split("\n")
    title, text = _wording(problem, chance)
    remark = Remark(problem.category, problem.severity, title, text, file=path, line=number, source=reviewer)
    roll = chance.random()
    if roll < 0.7:
        remark = replace(remark, quote=lines[number - 1].strip())
    elif roll < 0.78:
        remark = replace(remark, quote="\n".join(lines[number - 1 : number + 1]), end_line=number + 1)
    elif roll < 0.85:
        remark = replace(remark, quote=" ".join(lines[number - 1].split()[:3]))
    if chance.random() < 0.2:
        # Reviewers miscount.
        off = chance.randint(-4, 4) if chance.random() < 0.75 else chance.randint(-30, 30)
        remark = replace(remark, line=max(number + off, 1), end_line=None)
    return remark


def _wording(problem: Problem, chance: random.Random) -> tuple[str, str]:
    """The first words half of the time, else synonyms, another reviewer's words, or a mix."""
    roll = chance.random()
    title, text = problem.says[0]
    if roll >= 0.45:
        title, text = chance.choice(problem.says)
    if 0.6 <= roll < 0.75:
        text = chance.choice(problem.says)[1]
    if roll >= 0.75:
        title, text = reword(title, chance), reword(text, chance)
    return title.format(**problem.names), text.format(**problem.names)
