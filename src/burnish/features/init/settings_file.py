"""Decided settings as a short YAML file, each line with its reason."""

from __future__ import annotations

import re
from collections.abc import Sequence

from burnish.checks.discover import DiscoveredChecks
from burnish.checks.tools import Command

HEAD = """\
# How burnish works here, as `burnish init` found it. Change what is wrong.
# `burnish config reference` shows every other setting, `burnish doctor` what is missing.

"""
# A text like this is not read by YAML as a number, a date or another type.
_PLAIN = re.compile(r"(?:[A-Za-z]|\./)[A-Za-z0-9_ ./=,&()+@:-]*")
_NOT_TEXT = re.compile(r"(?i)true|false|yes|no|on|off|null|~|y|n")
WIDEST = 100


def settings_text(choices: Sequence[DiscoveredChecks], *, slash: bool = False) -> str:
    """The whole file. Sections appear in the order of their first setting."""
    lines: list[str] = []
    previous_key: tuple[str, ...] = ()
    for one in sorted(choices, key=lambda one: _order(one.key)):
        common_depth = next(
            (n for n, (a, b) in enumerate(zip(previous_key, one.key, strict=False)) if a != b), len(previous_key)
        )
        lines += [f"{'  ' * depth}{name}:" for depth, name in enumerate(one.key[:-1]) if depth >= common_depth]
        lines += _lines("  " * (len(one.key) - 1), one)
        previous_key = one.key
    if not any(one.key == ("checks", "test") for one in choices):
        lines += ["# checks:", "#   test: ./run-tests                # no test command found: write yours here"]
    if slash:
        lines += ["# review:", "#   slash_command: /review-task      # each review goes through it"]
    return HEAD + "\n".join(lines) + "\n"


def _lines(margin: str, one: DiscoveredChecks) -> list[str]:
    """A setting on one line; a check with a folder of its own as a mapping."""
    if not one.cwd and not one.paths:
        return _setting(margin, f"{one.key[-1]}: {written(one.value)}", one.why)
    lines = [*_setting(margin, f"{one.key[-1]}:", one.why), f"{margin}  run: {written(one.value)}"]
    lines += [f"{margin}  cwd: {written(one.cwd)}"] if one.cwd else []
    return [*lines, *([f"{margin}  paths: {written(one.paths)}"] if one.paths else [])]


def _order(key: tuple[str, ...]) -> tuple[int, bool]:
    """Sections as in the reference; single checks before the extra ones."""
    names = ("agent", "checks", "workspace")
    return (names.index(key[0]) if key[0] in names else len(names), "extra" in key)


def _setting(margin: str, line: str, why: str) -> list[str]:
    reason = "".join(char if char.isprintable() else " " for char in why)
    beside = f"{margin}{line:<{34 - len(margin)}} # {reason}"
    return [beside] if len(beside) <= WIDEST else [f"{margin}# {reason}", f"{margin}{line}"]


def written(value: Command) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(_scalar(word, inside=True) for word in value) + "]"
    return _scalar(value, inside=False)


def _scalar(text: str, *, inside: bool) -> str:
    plain = _PLAIN.fullmatch(text) and not _NOT_TEXT.fullmatch(text) and text == text.strip()
    risky = ": " in text or text.endswith(":") or (inside and "," in text)
    if inside and re.fullmatch(r"--?[A-Za-z][A-Za-z0-9_=.-]*", text):
        return text
    return text if plain and not risky else f'"{"".join(map(_escaped, text))}"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char if char.isprintable() else f"\\U{ord(char):08x}"
