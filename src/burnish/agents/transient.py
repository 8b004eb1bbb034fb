"""Does a failed call look as if waiting would help? Few words, and only of calls that failed."""

from __future__ import annotations

import re

# Looked for first: an account without money also says "429".
_PERMANENT = re.compile(
    r"\b40[013]\b|unauthori[sz]ed|invalid.{0,10}api.?key|authentication|not logged in|permission denied"
    r"|insufficient_quota|billing|credit balance|model.{0,40}(?:not found|does not exist)",
    re.IGNORECASE,
)
_TRANSIENT = re.compile(
    r"\b(?:429|502|503|504|529)\b|rate.?limit|too many requests|overloaded|high demand|temporary error"
    r"|(?:temporarily|service) unavailable|stream (?:disconnected|closed|ended)"
    r"|internal ?server ?error|service ?unavailable ?error|api ?connection ?error"
    r"|premature close|socket hang up|finish.reason|fetch failed|(?:unable to|cannot) connect"
    r"|gateway time.?out|connection (?:reset|refused|aborted|timed out|error)|network is unreachable"
    r"|temporary failure in name resolution|\b(?:ECONNRESET|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|ENOTFOUND)\b",
    re.IGNORECASE,
)
# Programs say at the end why they stop; what an agent printed an hour before is about something else.
_LAST = 4000


def refuses_for_good(message: str) -> bool:
    """No login, no money, no such model."""
    return bool(_PERMANENT.search(message))


def in_short(message: str) -> str:
    """What a failure that may pass comes to, after the agent's name."""
    if re.search(r"\b429\b|rate.?limit|too many requests|limit reached", message, re.IGNORECASE):
        return "was rate limited"
    if re.search(r"\b(?:503|529)\b|overloaded|high demand|unavailable", message, re.IGNORECASE):
        return "is overloaded"
    return "could not answer"


def looks_transient(*texts: str) -> bool:
    message = "\n".join(text[-_LAST:] for text in texts)
    return not _PERMANENT.search(message) and bool(_TRANSIENT.search(message))
