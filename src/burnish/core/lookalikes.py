"""Text reduced to what a reader sees: one case, one kind of space, no invisible characters, Latin letters."""

from __future__ import annotations

import re
import unicodedata

# Cyrillic and Greek letters that look like Latin ones, in lower case
_LATIN = str.maketrans("авсԁеһіјӏкмнорԛѕтуѵԝхαεικνορτυχϲ", "abcdehijlkmhopqstyvwxaeikvoptuxc")
_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-"))
_INVISIBLE = ("Cf", "Mn", "Me", "Cc")


def visible(text: str) -> str:
    """Without invisible characters, and with every space as a plain one; line feeds and tabs stay."""
    if text.isascii():
        return text
    characters = (
        c for c in unicodedata.normalize("NFKC", text) if c in "\n\t" or unicodedata.category(c) not in _INVISIBLE
    )
    return re.sub(r"[^\S\n\t]", " ", "".join(characters))


def skeleton(text: str) -> str:
    return visible(unicodedata.normalize("NFKD", text)).casefold().translate(_LATIN).translate(_DASHES)
