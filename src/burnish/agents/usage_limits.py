"""Limits of a plan or an account: whether a program's error message reports one, and when it ends."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

MAX_WAIT = timedelta(days=8)
MAX_MESSAGE_LENGTH = 2000
# how long a program may report a time of day as the reset after it has passed
_LATE = timedelta(minutes=10)

_LIMIT = re.compile(
    r"(?:usage|session|plan|weekly|daily|monthly|hourly|5-hour|opus|sonnet|premium request)s?[ _-]limit"
    r"|limit reached\s*(?:\||\W{1,3}resets?\b)"
    r"|(?:hit|reached|exceeded) your [\w' -]{0,40}(?:limit|quota|allowance)"
    r"|premium request allowance"
    r"|quota (?:exceeded|exhausted|will reset)|exceeded your current quota|exhausted your (?:daily )?(?:quota|capacity)"
    r"|out of extra usage",
    re.IGNORECASE,
)
# A rate limit is over after some seconds, unless the message names a longer time.
_RATE = re.compile(r"rate[ _-]?limit|too many requests", re.IGNORECASE)
_LONG_RATE = timedelta(minutes=2)
_PER_MINUTE = re.compile(r"per[ _-]?(?:minute|second)", re.IGNORECASE)
# An account without credit does not recover by waiting. Nor does a context that is too long, or a test that failed.
_FOR_GOOD = re.compile(
    r"credit balance|insufficient_quota|\bcontext\b|token limit|AssertionError|\bassert\b|\bFAILED \S*test",
    re.IGNORECASE,
)
# Offers to buy more, which some programs also make where waiting helps.
_OFFER = re.compile(r"billing|payment|purchase more|add credits", re.IGNORECASE)
_RECOVERS = re.compile(r"\b(?:try again|retry) (?:in|at|after)\b|\bresets?\b", re.IGNORECASE)
_EPOCH = re.compile(r"(?:\||reset\w*\W{1,4})\s*(1[0-9]{9})(?:[0-9]{3})?\b", re.IGNORECASE)
_ISO = re.compile(r"\b(20\d\d-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?: ?Z|[+-]\d\d:?\d\d)?)")
_AFTER = re.compile(
    r"(?:retry[- _]?after|resets?_in_seconds)\W{1,4}(\d{1,7})(?:\.\d+)?\s*(?:s|sec|seconds)?\b", re.IGNORECASE
)
_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_AMOUNT = r"\d{1,6}(?:\.\d+)?\s*(?:d(?:ays?)?|h(?:ours?|rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)(?![a-z])"
_IN = re.compile(rf"\b(?:in|after)\s+({_AMOUNT}(?:[\s,]*(?:and\s+)?{_AMOUNT})*)", re.IGNORECASE)
_IN_ONE = re.compile(r"\b(?:in|after)\s+(?:less than |about )?an?\s+(day|hour|minute|second)\b", re.IGNORECASE)
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CLOCK = re.compile(
    r"\b(?:resets?|again|until|available)\s*(?:on|at|:)?\s*(?:tomorrow(?: at)?\s+)?"
    r"(?:(?P<weekday>(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?)\b[\s,]*(?:at\s+)?)?"
    r"(?:(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?"
    r"(?:,?\s+(?P<year>20\d\d))?[\s,]*(?:at\s+)?)?"
    r"(?:(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s*(?P<half>[ap]\.?m\b\.?)?)?"
    r"\s*(?:\(?(?P<zone>[A-Z][A-Za-z]+(?:/[A-Za-z_+-]+){1,2}|UTC|GMT)\b\)?)?",
    re.IGNORECASE,
)


def is_usage_limit(message: str) -> bool:
    """Whether an error of a program says that its plan or quota is used up for a time."""
    text = message[:MAX_MESSAGE_LENGTH]
    if _FOR_GOOD.search(text) or not (_LIMIT.search(text) or _is_long_rate_limit(text)):
        return False
    return not _OFFER.search(text) or bool(_RECOVERS.search(text))


def _is_long_rate_limit(text: str) -> bool:
    now = datetime.now(UTC)
    found = _relative(text, now) if _RATE.search(text) else None
    return found is not None and found - now > _LONG_RATE


def reset_time(message: str, now: datetime) -> datetime | None:
    """When the limit ends; None if the message does not tell. `now` has the zone of the user.

    A time of day without a date is the next one, but one that has just passed is now: the reset is late.
    A time that has passed is now, too; one too far away is `MAX_WAIT` away.
    """
    text = message[:MAX_MESSAGE_LENGTH]
    clock = _clock(text, now)
    found = _absolute(text, now) or _relative(text, now) or (clock and _with_summer_time(clock, now))
    if found is None and _PER_MINUTE.search(text):
        found = now + timedelta(minutes=1)
    return None if found is None else max(now, min(found, now + MAX_WAIT))


def _with_summer_time(found: datetime, now: datetime) -> datetime:
    """The same wall-clock time if the clocks change until then: `now` has only today's difference to UTC."""
    if found.tzinfo is not now.tzinfo or not isinstance(now.tzinfo, timezone) or now.astimezone().tzinfo != now.tzinfo:
        return found
    return found.replace(tzinfo=None).astimezone()


def _absolute(text: str, now: datetime) -> datetime | None:
    if match := _EPOCH.search(text):
        return datetime.fromtimestamp(int(match[1]), now.tzinfo)
    if match := _ISO.search(text):
        try:
            value = datetime.fromisoformat(match[1].replace(" Z", "Z"))
        except ValueError:
            return None
        return value if value.tzinfo else value.replace(tzinfo=now.tzinfo)
    return None


def _relative(text: str, now: datetime) -> datetime | None:
    if match := _AFTER.search(text):
        return now + timedelta(seconds=int(match[1]))
    if match := _IN.search(text):
        amounts = re.findall(r"(\d+(?:\.\d+)?)\s*([dhms])", match[1], re.IGNORECASE)
        seconds = sum(float(amount) * _UNITS[unit.lower()] for amount, unit in amounts)
        return now + timedelta(seconds=min(seconds, MAX_WAIT.total_seconds()))
    if match := _IN_ONE.search(text):
        return now + timedelta(seconds=_UNITS[match[1][0].lower()])
    return None


def _clock(text: str, now: datetime) -> datetime | None:
    for match in _CLOCK.finditer(text):
        if any(match[name] for name in ("hour", "weekday", "month")):
            return _next_clock(match, now)
    return None


def _next_clock(match: re.Match[str], now: datetime) -> datetime | None:
    hour, minute = int(match["hour"] or 0), int(match["minute"] or 0)
    if match["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if match["half"][0] in "pP" else 0)
    elif match["hour"] and not match["minute"] and not match["month"]:
        # `try again 3 times` is not a time of day
        return None
    local = now.astimezone(_zone(match["zone"]) or now.tzinfo)
    try:
        found = local.replace(hour=hour, minute=minute, second=0, microsecond=0)
        if match["month"]:
            month = _MONTHS.index(match["month"].lower()) + 1
            found = found.replace(year=int(match["year"] or local.year), month=month, day=int(match["day"]))
            if not match["year"] and found < local - timedelta(days=180):
                found = found.replace(year=found.year + 1)
            return found
    except ValueError:
        return None
    if match["weekday"]:
        day = next(n for n, name in enumerate(_DAYS) if name.startswith(match["weekday"].lower()[:3]))
        found += timedelta(days=(day - local.weekday()) % 7)
        return found if found > local else found + timedelta(days=7)
    # the reset that was waited for is a little late
    return found if found > local - _LATE else found + timedelta(days=1)


def _zone(name: str | None) -> tzinfo | None:
    if not name:
        return None
    if name.upper() in ("UTC", "GMT"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
