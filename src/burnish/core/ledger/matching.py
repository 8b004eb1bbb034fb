"""Is this the same problem? Evidence from place, quoted code, words and rule, weighed into one number."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from burnish.core.change import Change
from burnish.core.finding import Category, Remark, Severity
from burnish.core.ledger.assignment import best_pairs
from burnish.core.ledger.reanchor import Anchor, rewrites, squeeze, touches
from burnish.core.review import is_person

# From here on two remarks are taken for one problem.
SAME = 0.6
# The reviewer has spoken of that finding by id already: it may repeat it, or mean another one.
SAME_THOUGH_OPEN = 0.64
# It has even called it settled: only clear words at the same place say the contrary.
SAME_THOUGH_SETTLED = 0.9
# Two reviewers of one panel.
SAME_VOICE = 0.62

_PLACE, _QUOTE, _WORDS = 0.45, 0.3, 0.5
_WORDS_ALONE = 1.1
_WORDS_LOST = 0.6
# In code that did not change since, a remark is likelier to be one that was made before.
_REPEATED = 0.1
# How far off a reviewer that does not quote may count.
_MISCOUNT = 5
# From here on two texts say the same.
_ALIKE = 0.4
# How the words of others are kept under a finding's own.
ALSO = "Also said: "
_KEPT = re.compile(rf"(?:^|\n\n)(?:{ALSO}|Said before: )")
# Among more remarks than this on one file, only those of the same category and rule are compared.
_CROWD = 200

_WORD = re.compile(r"[^\W\d]\w*")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ENDINGS = ("ations", "ation", "ings", "ing", "ions", "ion", "ies", "ied", "ers", "er", "ed", "es", "ly", "s")
# Words that any two remarks may share.
_FILLING = """
    a an and any are as at be been being but by can could do does for from has have here how if in into is
    it its line may might must no not of on or should so than that the their them then there these they this
    to use used using was were when where which while will with without would you your code function method
    file
"""
_EMPTY = frozenset(_FILLING.split())

_WordSets = tuple[tuple[frozenset[str], frozenset[str]], ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """The evidence by which a problem is recognized."""

    key: tuple[str, ...]
    place: Anchor
    category: Category
    severity: Severity
    rule: str
    words: frozenset[str]
    # the words of each remark on it: of the title, and of the whole
    word_sets: _WordSets
    person: bool
    quote: str
    quote_lines: frozenset[str]
    quote_words: frozenset[str]
    # the words that the quoted names are made of
    quote_names: frozenset[str]


def trace(remark: Remark, place: Anchor) -> Trace:
    statements = _word_sets(remark)
    lines = frozenset(squeeze(line) for line in remark.quote.split("\n")) - {""}
    return Trace(
        (remark.category, remark.rule, remark.title, remark.description, remark.quote, remark.source),
        place,
        remark.category,
        remark.severity,
        remark.rule,
        frozenset().union(*(words for _, words in statements)),
        statements,
        is_person(remark.source),
        squeeze(remark.quote),
        lines,
        frozenset(_WORD.findall(remark.quote)),
        _words(remark.quote),
    )


def pair(old: Sequence[Trace], new: Sequence[Trace], bars: Sequence[float]) -> dict[int, int]:
    """Map old to new indices by the best assignment. `bars[i]` is the least similarity for old `i`."""
    pairs = _identical(old, new)
    used_new = set(pairs.values())
    gains: dict[tuple[int, int], float] = {}
    for i, candidates in _candidates(old, new, set(pairs), used_new):
        for j in candidates:
            gain = likeness(old[i], new[j]) - bars[i]
            if gain >= 0:
                # What just reaches the bar must still count as a gain.
                gains[i, j] = gain + 1e-6
    return pairs | best_pairs(gains)


def _identical(old: Sequence[Trace], new: Sequence[Trace]) -> dict[int, int]:
    """Pairs with the same text at the same place. No other pairing can be better."""
    waiting: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for j, after in enumerate(new):
        waiting[after.key, after.place.file, after.place.line].append(j)
    pairs: dict[int, int] = {}
    for i, before in enumerate(old):
        same = waiting.get((before.key, before.place.file, before.place.line))
        if same:
            pairs[i] = same.pop(0)
    return pairs


def _candidates(
    old: Sequence[Trace], new: Sequence[Trace], used_old: set[int], used_new: set[int]
) -> Iterator[tuple[int, list[int]]]:
    """For each unpaired old trace, the new traces that may match."""
    by_file: dict[str | None, list[int]] = defaultdict(list)
    for j, after in enumerate(new):
        if j not in used_new:
            by_file[after.place.file].append(j)
    everywhere = [j for j in range(len(new)) if j not in used_new]
    for i, before in enumerate(old):
        if i in used_old:
            continue
        file = before.place.file
        anywhere = file is None or before.place.gone
        some = everywhere if anywhere else by_file[file] + by_file[None]
        if len(some) > _CROWD:
            some = [j for j in some if new[j].category == before.category and new[j].rule == before.rule]
        yield i, [j for j in some if _thinkable(before, new[j])]


def pair_left_over(old: Sequence[Trace], new: Sequence[Trace]) -> dict[int, int]:
    """Old → new of what is left: one finding without a remark, one remark close by, and nothing else near.

    For reviewers that quote nothing and miscount: words and lines may differ, but no other can be meant.
    """
    near = [(i, j) for i, before in enumerate(old) for j, after in enumerate(new) if _close(before, after)]
    olds, news = Counter(i for i, _ in near), Counter(j for _, j in near)
    return {i: j for i, j in near if olds[i] == 1 and news[j] == 1}


def _close(old: Trace, new: Trace) -> bool:
    if old.category != new.category or old.place.file != new.place.file or (old.rule and new.rule):
        return False
    if _apart(old, new):
        return False
    if (old.place.sure and new.place.sure) or old.place.line is None or new.place.line is None:
        return False
    return old.place.file is not None and abs(old.place.line - new.place.line) <= _MISCOUNT


def likeness(old: Trace, new: Trace) -> float:
    """The similarity of two problems: `SAME` or more means the same problem."""
    if _apart(old, new):
        return 0.0
    value = 0.05 if old.category == new.category else -0.2
    value += 0.2 if old.rule and old.rule == new.rule else 0.0
    place = _place(old.place, new.place)
    quote = _quote(old, new)
    if quote is not None:
        value += _QUOTE * (1.5 * quote - 0.5)
    if old.place.file != new.place.file and quote is not None and quote < 0.7:
        # Between two files only the code itself can tell that it was moved.
        return 0.0
    if new.place.seen:
        value += _REPEATED
    words = _likeness_of_words(old, new)
    if place is None:
        return value + _WORDS_ALONE * words
    if old.place.sure and new.place.sure:
        return value + place + _WORDS * words
    # A line that was miscounted must not outvote the very same words.
    return value + max(place + _WORDS * words, _WORDS_LOST * words)


def is_same_code(delta: Change | None, old: Anchor, new: Anchor) -> bool:
    """Whether two problems are about the same code, which `delta` did not change. Where that is unknown: False.

    The same words about other code are another problem.
    """
    # one that miscounts its lines may mean a change close by, unless it names the very line
    changed = rewrites if new.sure or new.line == old.line else touches
    if old.gone or changed(delta, new.file, new.line, new.end_line):
        return False
    if old.file is None or new.file is None:
        return True
    if old.file != new.file or old.line is None or new.line is None:
        return old.file == new.file
    return _gap(old, new) <= (0 if old.sure and new.sure else _MISCOUNT)


def say_the_same(one: Remark, other: Remark) -> bool:
    """Do they share enough words that one of them can stand for both? Words kept from others count as well."""
    return _alike(_word_sets(one), _word_sets(other))


def _apart(old: Trace, new: Trace) -> bool:
    """Whether the two cannot be one problem, even at the same place.

    One line may have two faults. Where one is graver, a person's, or a tool's, its place alone does not make them one.
    """
    if old.rule and new.rule:
        return old.rule != new.rule
    unlike = old.severity is not new.severity or old.person or new.person or old.rule != new.rule
    return unlike and not _alike(old.word_sets, new.word_sets)


def parts(remark: Remark) -> list[Remark]:
    """The remark's own text, then the texts of others kept below it, each as a remark."""
    own, *other_texts = _KEPT.split(remark.description)
    return [replace(remark, description=own), *(replace(remark, title=text, description="") for text in other_texts)]


def _word_sets(remark: Remark) -> _WordSets:
    word_sets = [(_words(part.title), _words(part.description)) for part in parts(remark)]
    return tuple((title, title | rest) for title, rest in word_sets)


def _alike(one: _WordSets, other: _WordSets) -> bool:
    return any(max(_overlap(a, c), _overlap(b, d)) >= _ALIKE for a, b in one for c, d in other)


def _thinkable(old: Trace, new: Trace) -> bool:
    """Whether the two may be the same code: in one file, or moved to a place that changed."""
    if old.place.gone and new.place.sure and new.place.seen:
        return False
    if old.place.file == new.place.file or old.place.file is None or new.place.file is None:
        return True
    return old.place.gone


def _place(old: Anchor, new: Anchor) -> float | None:
    """The similarity of the positions; None if they cannot be compared."""
    if old.file is None or new.file is None or old.file != new.file:
        return None
    if old.line is None or new.line is None:
        return None
    gap = _gap(old, new)
    if not (old.sure and new.sure):
        # A line number without a quote may be a miscount; the same number twice is evidence.
        exact = 0.15 if old.line == new.line else 0.0
        return _PLACE * math.exp(-gap / 8) + exact
    if gap:
        # Both positions are certain, and they differ.
        return -0.4
    return _PLACE if abs(old.line - new.line) <= 1 else _PLACE * 0.7


def _gap(old: Anchor, new: Anchor) -> int:
    """The number of lines between the two, which both have a line."""
    old_end, new_end = (max(place.end_line or 0, place.reach or 0, place.line or 0) for place in (old, new))
    return max((old.line or 0) - new_end, (new.line or 0) - old_end, 0)


def _quote(old: Trace, new: Trace) -> float | None:
    """How alike the quoted code is; None if one of them quotes nothing."""
    if not old.quote or not new.quote:
        return None
    if old.quote == new.quote:
        return 1.0
    shorter, longer = sorted((old.quote, new.quote), key=len)
    common_lines = old.quote_lines & new.quote_lines
    if (len(shorter) >= 6 and shorter in longer) or (common_lines and max(map(len, common_lines)) >= 6):
        return 0.95
    return 0.8 * _overlap(old.quote_words, new.quote_words)


def _likeness_of_words(old: Trace, new: Trace) -> float:
    names: frozenset[str] = frozenset()
    if _one_spot(old.place, new.place):
        # Names that the code itself holds speak of the place, which is weighed already, not of the problem.
        names = old.quote_names | new.quote_names
    title = max(_overlap(one - names, other - names) for one, _ in old.word_sets for other, _ in new.word_sets)
    words = _overlap(old.words - names, new.words - names)
    return max(title, words, (title + words) / 2)


def _one_spot(old: Anchor, new: Anchor) -> bool:
    return old.file == new.file and old.line is not None and old.line == new.line


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    if not one or not other:
        return 0.0
    return 2 * len(one & other) / (len(one) + len(other))


@lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    found = {stem(part) for name in _WORD.findall(text) for part in _parts(name)}
    return frozenset(found - {""})


def _parts(name: str) -> list[str]:
    """`loadUser`, `load_user` → load, user."""
    split = _HUMP.sub("_", name).lower().split("_")
    return [part for part in split if len(part) > 1 and part not in _EMPTY]


def stem(word: str) -> str:
    """A word without its ending, so that `closes` and `closing` are one."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
