"""The best pairing of two lists: each side at most once, the greatest total gain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

Gains = Mapping[tuple[int, int], float]

# A denser knot than this is paired greedily: exact pairing grows with the cube.
MAX_GROUP_SIZE = 80


def best_pairs(gains: Gains) -> dict[int, int]:
    """Map left to right so that the sum of gains is greatest. Pairs without a gain are left out."""
    useful = {pair: gain for pair, gain in gains.items() if gain > 0}
    pairs: dict[int, int] = {}
    for knot in _knots(useful):
        small = len({a for a, _ in knot}) <= MAX_GROUP_SIZE and len({b for _, b in knot}) <= MAX_GROUP_SIZE
        pairs.update(_exact(knot) if small else _greedy(knot))
    return pairs


def _knots(gains: Gains) -> list[dict[tuple[int, int], float]]:
    """Independent groups of pairs, which can be solved separately."""
    parent: dict[tuple[str, int], tuple[str, int]] = {}

    def root(node: tuple[str, int]) -> tuple[str, int]:
        while parent.setdefault(node, node) != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for a, b in gains:
        parent[root(("left", a))] = root(("right", b))
    knots: dict[tuple[str, int], dict[tuple[int, int], float]] = defaultdict(dict)
    for pair in sorted(gains):
        knots[root(("left", pair[0]))][pair] = gains[pair]
    return list(knots.values())


def _greedy(gains: Gains) -> dict[int, int]:
    pairs: dict[int, int] = {}
    used_rights: set[int] = set()
    for a, b in sorted(gains, key=lambda pair: (-gains[pair], pair)):
        if a not in pairs and b not in used_rights:
            pairs[a] = b
            used_rights.add(b)
    return pairs


def _exact(gains: Gains) -> dict[int, int]:
    """The Hungarian method with potentials; one spare column per row means "stays alone"."""
    lefts = sorted({a for a, _ in gains})
    rights = sorted({b for _, b in gains})
    if len(lefts) == 1 or len(rights) == 1:
        return _greedy(gains)
    width = len(rights) + len(lefts)
    cost = [[-gains.get((a, b), 0.0) if (a, b) in gains else 1.0 for b in rights] + [0.0] * len(lefts) for a in lefts]
    row_of = _solve(cost, width)
    pairs = {lefts[row]: rights[column] for column, row in enumerate(row_of[: len(rights)]) if row >= 0}
    return {a: b for a, b in pairs.items() if (a, b) in gains}


def _solve(cost: list[list[float]], width: int) -> list[int]:
    """For each column the row it was given, or -1; the sum of costs is the least possible."""
    potential_row = [0.0] * len(cost)
    potential = [0.0] * width
    row_of = [-1] * width
    for start in range(len(cost)):
        _augment(cost, width, start, row_of, potential_row, potential)
    return row_of


def _augment(
    cost: list[list[float]], width: int, start: int, row_of: list[int], up: list[float], down: list[float]
) -> None:
    """Apply the cheapest chain of swaps that assigns a column to row `start`."""
    least = [float("inf")] * width
    came_from = [-1] * width
    closed_columns: list[int] = []
    open_columns = set(range(width))
    row, last = start, -1
    while True:
        for column in open_columns:
            reduced_cost = cost[row][column] - up[row] - down[column]
            if reduced_cost < least[column]:
                least[column], came_from[column] = reduced_cost, last
        last = min(open_columns, key=lambda column: (least[column], column))
        step = least[last]
        up[start] += step
        for column in closed_columns:
            up[row_of[column]] += step
            down[column] -= step
        open_columns.discard(last)
        for column in open_columns:
            least[column] -= step
        least[last] = 0.0
        closed_columns.append(last)
        if row_of[last] < 0:
            break
        row = row_of[last]
    while last >= 0:
        before = came_from[last]
        row_of[last] = row_of[before] if before >= 0 else start
        last = before
