"""Another verdict in the same output: a reviewer's approval counts only if nothing that it printed rejects.

A program may print several messages, and a process that it started may write into its output. Whichever of two
verdicts stands last, in whatever event or spelling of one: both carry this call's number, and they do not agree.
"""

from __future__ import annotations

import re

from burnish.agents.base import AgentFailure, Spoken

_ROLES = ("review", "parse")
_NUMBER = re.compile(r"burnish-verdict[ \t]+([0-9a-f]{12,64})\b")
_SCHEMA_NUMBER = re.compile(r'"number"\s*:\s*"([0-9a-f]{12,64})"')
# inside of JSON a quote has one backslash or more before it
_QUOTE = r"\\*[\"']"
_REJECTS = rf"{_QUOTE}verdict{_QUOTE}\s*:\s*{_QUOTE}(?:rejected|changes_requested|needs_discussion){_QUOTE}"


def conflicting_verdict(who: str, done: Spoken, answer: str) -> AgentFailure | None:
    """The failure of a review whose answer does not reject, while a verdict with the same number elsewhere does."""
    if done.role not in _ROLES or re.search(_REJECTS, answer):
        return None
    found = _NUMBER.search(answer)
    number = found or (_SCHEMA_NUMBER.search(answer) if answer.lstrip().startswith("{") else None)
    if number is None or not _other_verdict(number[1], bool(found)).search(done.stdout):
        return None
    return AgentFailure(
        f"{who} failed: it printed two different verdicts.",
        retryable=True,
        hint="Everything it printed: `burnish log`.",
    )


def _other_verdict(number: str, block: bool) -> re.Pattern[str]:
    if block:
        # up to the end of that block: the prompt, which some programs print, has the number and no verdict after it
        return re.compile(
            rf"burnish-verdict[ \t]+{number}(?:\\+[nrt]|\s){{1,8}}\{{(?:(?!```|~~~).){{0,20000}}?{_REJECTS}", re.DOTALL
        )
    numbered = rf"{_QUOTE}number{_QUOTE}\s*:\s*{_QUOTE}{number}{_QUOTE}"
    return re.compile(rf"{numbered}[^\n]{{0,20000}}?{_REJECTS}|{_REJECTS}[^\n]{{0,20000}}?{numbered}")
