"""Is this the same problem? Evidence from place, quoted code, words and rule, weighed into one number."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from burnish.core.assignment import best_pairs
from burnish.core.finding import Category, Remark
from burnish.core.reanchor import Place, squeeze

# From here on two remarks are taken for one problem.
SAME = 0.6
# The reviewer has already spoken of that finding by id: what it raises besides is likelier another one.
SAME_THOUGH_RULED = 0.9
# Two reviewers of one panel: a problem taken for another one would vanish unseen, so more is asked.
SAME_VOICE = 0.75
# Word for word at the same place; outweighs any two other pairs, so identical ones are never swapped.
IDENTICAL = 4.0

_PLACE, _QUOTE, _WORDS = 0.45, 0.3, 0.5
_WORDS_ALONE = 1.1
# Code found by its quote this many lines apart may still be one place, quoted in two pieces.
_NEIGHBOURS = 3

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


@dataclass(frozen=True, slots=True)
class Trace:
    """What a problem leaves behind to be recognised by."""

    key: tuple[str, ...]
    place: Place
    category: Category
    rule: str
    title: frozenset[str]
    words: frozenset[str]
    quote: str
    quote_lines: frozenset[str]
    quote_words: frozenset[str]


def trace(remark: Remark, place: Place) -> Trace:
    title = _words(remark.title)
    lines = frozenset(squeeze(line) for line in remark.quote.split("\n")) - {""}
    return Trace(
        (remark.category, remark.rule, remark.title, remark.description, remark.quote, remark.source),
        place,
        remark.category,
        remark.rule,
        title,
        title | _words(remark.description),
        squeeze(remark.quote),
        lines,
        frozenset(_WORD.findall(remark.quote)),
    )


def pair(old: Sequence[Trace], new: Sequence[Trace], bars: Sequence[float]) -> dict[int, int]:
    """Index of old → index of new: the one best assignment. `bars[i]` is what old `i` asks of its match."""
    gains: dict[tuple[int, int], float] = {}
    for i, before in enumerate(old):
        for j, after in enumerate(new):
            if not _thinkable(before, after):
                continue
            gain = likeness(before, after) - bars[i]
            if gain >= 0:
                # What just reaches the bar must still count as a gain.
                gains[i, j] = gain + 1e-6
    return best_pairs(gains)


def likeness(old: Trace, new: Trace) -> float:
    """How much speaks for these two being one problem: `SAME` or more is yes."""
    if old.rule and new.rule and old.rule != new.rule:
        return 0.0
    if old.key == new.key and _spot(old.place) == _spot(new.place):
        return IDENTICAL
    value = 0.05 if old.category == new.category else -0.2
    value += 0.2 if old.rule and old.rule == new.rule else 0.0
    place = _place(old.place, new.place)
    quote = _quote(old, new)
    if quote is not None:
        value += _QUOTE * (1.5 * quote - 0.5)
    if place is None:
        return value + _WORDS_ALONE * _likeness_of_words(old, new)
    return value + place + _WORDS * _likeness_of_words(old, new)


def _thinkable(old: Trace, new: Trace) -> bool:
    """Code that still stands in one file is not the code of another file."""
    if old.place.file == new.place.file or old.place.file is None or new.place.file is None:
        return True
    return old.place.gone


def _spot(place: Place) -> tuple[str | None, int | None]:
    return place.file, place.line


def _place(old: Place, new: Place) -> float | None:
    """What the positions say; None if they say nothing."""
    if old.file is None or new.file is None or old.file != new.file:
        return None
    if old.line is None or new.line is None:
        return None
    old_end, new_end = max(old.end_line or 0, old.line), max(new.end_line or 0, new.line)
    gap = max(old.line - new_end, new.line - old_end, 0)
    if not (old.sure and new.sure):
        return _PLACE * math.exp(-gap / 8)
    if gap > _NEIGHBOURS:
        # Both stand where their code stands, and that is not the same place.
        return -0.4
    apart = abs(old.line - new.line)
    return _PLACE if apart <= 1 and not gap else _PLACE * 0.7 if not gap else _PLACE * 0.6 / gap


def _quote(old: Trace, new: Trace) -> float | None:
    """How alike the quoted code is; None if one of them quotes nothing."""
    if not old.quote or not new.quote:
        return None
    if old.quote == new.quote:
        return 1.0
    shorter, longer = sorted((old.quote, new.quote), key=len)
    shared = old.quote_lines & new.quote_lines
    if (len(shorter) >= 6 and shorter in longer) or (shared and max(map(len, shared)) >= 6):
        return 0.85
    return 0.8 * _overlap(old.quote_words, new.quote_words)


def _likeness_of_words(old: Trace, new: Trace) -> float:
    # Names that the code itself holds speak of the place, which is weighed already, not of the problem.
    known = {stem(part) for name in old.quote_words | new.quote_words for part in _parts(name)}
    here = old.place.file is not None and old.place.file == new.place.file
    names = known if here and known else set()
    title = _overlap(old.title - names, new.title - names)
    words = _overlap(old.words - names, new.words - names)
    return max(title, words, (title + words) / 2)


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    if not one or not other:
        return 0.0
    return 2 * len(one & other) / (len(one) + len(other))


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
