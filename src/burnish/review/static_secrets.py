"""Passwords and keys on changed lines. What was found is never repeated."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any

from burnish.core.finding import Category, Remark, Severity
from burnish.review.static_files import Looked

HIDDEN = "***"
LONGEST_LINE = 4000

_PLACEHOLDER = re.compile(
    r"example|dummy|sample|fake|change[-_ ]?me|placeholder|your|xxx|redacted|todo|insert|replace|default|foo|bar\b|test"
    r"|mock|secret$|password$|p[a4]ssw[o0]rd|qwerty|123456|abcdef|not[-_ ]?a[-_ ]?|none|null|undefined|hidden|<|>"
    r"|\*\*|\.\.\.",
    re.IGNORECASE,
)
_ALLOWED = re.compile(r"pragma:\s*(?:allow|white)list secret", re.IGNORECASE)
_REFERENCE = re.compile(
    r"^\$|\$\{|\{\{|\{[\w.]*\}|%\(|^env[.(]|process\.env|os\.environ|getenv|^vault:|^arn:|^/|^\.|^https?://|::"
)
_NAME = re.compile(r"([\w.$-]+)['\"\]]*\s*(?::=|=>|={1,3}|:)\s*['\"`@]*$")
_NOT_A_SECRET_NAME = re.compile(
    r"(?:name|field|id|path|file|dir|url|uri|hash|digest|checksum|integrity|label|header|param|type|env|var|ref|arn|length|min"
    r"|max|regex|pattern|policy|hint|prompt|help|errors?|message|title|column|attr|version|strength|manager|store|rotation"
    r"|algorithm|class|selector|input|prefix|suffix|format|scope|service|key_?id|public_?key|provider|expiry|ttl)s?$",
    re.IGNORECASE,
)
_KEY_BODY = re.compile(r"[A-Za-z0-9+/=]{20,}|^\s*(?=[^\s]*[0-9+/=])(?=[^\s]*[A-Z])[A-Za-z0-9+/=]{8,}\s*$", re.MULTILINE)
# Kinds that the library does not know yet.
_MORE = (
    ("GitHub Token", re.compile(r"github_pat_[A-Za-z0-9_]{60,}")),
    ("Google API Key", re.compile(r"AIza[0-9A-Za-z_-]{35}")),
    ("OpenAI API Key", re.compile(r"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,250}")),
    ("Anthropic API Key", re.compile(r"sk-ant-[A-Za-z0-9_-]{30,}")),
)
# Shapes that tests and docs are full of.
_SHOWN = ("JSON Web Token", "Basic Auth Credentials")
_TELLING = re.compile(r"key|pass|pwd|secret|contrase", re.IGNORECASE)
_CONFIG = (".yml", ".yaml", ".ini", ".cfg", ".conf", ".env", ".properties", ".toml")


@dataclass(frozen=True, slots=True)
class Secret:
    line: int
    value: str
    kind: str
    severity: Severity


def secrets(file: Looked) -> Iterator[Secret]:
    """All of them: one line may hold two, and neither may be repeated."""
    if not file.changed or file.is_generated:
        return
    numbers = [n for n in sorted(file.changed) if len(file.line(n)) <= LONGEST_LINE]
    numbers = [n for n in numbers if not _ALLOWED.search(file.line(n))]
    soft = file.is_test or file.is_docs
    known = {(secret.line, secret.value): secret for secret in _known(file, numbers, soft=soft)}
    yield from known.values()
    for number in [] if soft else numbers:
        if _TELLING.search(file.line(number)):
            yield from (secret for secret in _by_name(file, number) if (number, secret.value) not in known)


def secret_remark(file: Looked, secret: Secret) -> Remark:
    return file.remark(
        "secret",
        secret.severity,
        f"{_article(secret.kind)} stands in the code",
        "Whoever can read the repository can use it, and deleting the line later does not take it out of the history.",
        category=Category.SECURITY,
        line=secret.line,
        suggestion="Take it from the environment or a secret store, and make the one that was committed invalid.",
    )


def hide(text: str, values: list[str]) -> str:
    for value in values:
        text = text.replace(value, HIDDEN)
    return text


def _article(kind: str) -> str:
    return f"{'An' if kind[0] in 'AEIO' else 'A'} {kind}"


def _known(file: Looked, numbers: list[int], *, soft: bool) -> Iterator[Secret]:
    """By its shape. `soft`: in tests and docs some shapes are only there to be looked at."""
    for kind, number, value in _shapes(file, numbers):
        line = file.line(number)
        if kind == "Private Key":
            if not file.is_test and _key_follows(file, number, line):
                yield Secret(number, line.strip(), kind, Severity.ERROR)
        elif soft and kind in _SHOWN:
            continue
        elif _stands_alone(line, value) and not _is_placeholder(value):
            yield Secret(number, value, kind, Severity.ERROR)


def _shapes(file: Looked, numbers: list[int]) -> Iterator[tuple[str, int, str]]:
    """All lines in one go: none of the patterns reaches over the end of a line."""
    text = "\n".join(file.line(n) for n in numbers)
    starts = list(accumulate((len(file.line(n)) + 1 for n in numbers), initial=0))
    for detector in _detectors():
        # Not by analyze_string(): it gives back the first group, which for some kinds is only the prefix.
        formal = getattr(detector, "is_formally_valid", None)
        for match in (match for pattern in detector.denylist for match in pattern.finditer(text)):
            value = _value(match)
            if formal is None or formal(value):
                yield str(detector.secret_type), numbers[bisect_right(starts, match.start()) - 1], value
    for kind, pattern in _MORE:
        for match in pattern.finditer(text):
            yield kind, numbers[bisect_right(starts, match.start()) - 1], match[0]


def _value(match: re.Match[str]) -> str:
    """The part that is secret: a group that holds most of the match or stands behind a name; else all of it."""
    group = max((part for part in match.groups() if part), key=len, default="")
    return group if len(group) > 5 or match[0].startswith("://") else match[0]


def _by_name(file: Looked, number: int) -> Iterator[Secret]:
    """By the name of what it is given to."""
    line = file.line(number)
    for value in _keyword(file.path, line):
        match = _NAME.search(line[: line.find(value)])
        if not match or _NOT_A_SECRET_NAME.search(match[1]) or not _looks_random(value):
            continue
        strong = len(value) >= 16 and _entropy(value) >= 3.5
        yield Secret(number, value, "password or key", Severity.ERROR if strong else Severity.WARNING)


def _looks_random(value: str) -> bool:
    """Letters and digits in one word of eight or more: not a name, not a reference, not a stand-in."""
    if len(value) < 8 or re.search(r"\s", value) or _REFERENCE.search(value) or _is_placeholder(value):
        return False
    if not (re.search(r"\d", value) and re.search(r"[A-Za-z]", value)):
        return False
    # `auth-v2`, `db_1.users` are names: words with a number at the end
    return not re.fullmatch(r"[A-Za-z]+(?:[-_./:][A-Za-z]+)*[-_./:]?v?\d{0,3}", value) and _entropy(value) >= 2.5


def _is_placeholder(value: str) -> bool:
    return bool(_PLACEHOLDER.search(value)) or len(set(value)) < 6


def _stands_alone(line: str, value: str) -> bool:
    """Not cut out of a longer word, such as a hash."""
    at = line.find(value)
    around = line[at - 1 : at] + line[at + len(value) : at + len(value) + 1]
    return not re.search(r"[A-Za-z0-9]", around)


def _key_follows(file: Looked, number: int, line: str) -> bool:
    rest = line.partition("-----BEGIN")[2].partition("KEY")[2]
    near = [rest.replace("\\n", "\n"), *(file.line(number + step) for step in (1, 2, 3, 4))]
    return "-----BEGIN" in line and any(_KEY_BODY.search(text) and not _PLACEHOLDER.search(text) for text in near)


def _entropy(value: str) -> float:
    counts = Counter(value)
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())


def _keyword(path: str, line: str) -> list[str]:
    from detect_secrets.plugins import keyword
    from detect_secrets.util.filetype import determine_file_type

    table = keyword.REGEX_BY_FILETYPE.get(determine_file_type(path))
    if table is None and (path.endswith(_CONFIG) or "/.env" in f"/{path}"):
        table = keyword.CONFIG_DENYLIST_REGEX_TO_GROUP
    found = keyword.KeywordDetector().analyze_string(line, table)
    return list(dict.fromkeys(value.strip().strip("'\"`;,") for value in found if value))


@cache
def _detectors() -> tuple[Any, ...]:
    # Only their patterns are used: nothing here asks the network whether a key works.
    from detect_secrets.plugins.aws import AWSKeyDetector
    from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
    from detect_secrets.plugins.basic_auth import BasicAuthDetector
    from detect_secrets.plugins.discord import DiscordBotTokenDetector
    from detect_secrets.plugins.github_token import GitHubTokenDetector
    from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
    from detect_secrets.plugins.jwt import JwtTokenDetector
    from detect_secrets.plugins.npm import NpmDetector
    from detect_secrets.plugins.openai import OpenAIDetector
    from detect_secrets.plugins.private_key import PrivateKeyDetector
    from detect_secrets.plugins.pypi_token import PypiTokenDetector
    from detect_secrets.plugins.sendgrid import SendGridDetector
    from detect_secrets.plugins.slack import SlackDetector
    from detect_secrets.plugins.square_oauth import SquareOAuthDetector
    from detect_secrets.plugins.stripe import StripeDetector
    from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
    from detect_secrets.plugins.twilio import TwilioKeyDetector

    return tuple(
        kind()
        for kind in (
            PrivateKeyDetector, AWSKeyDetector, GitHubTokenDetector, GitLabTokenDetector, SlackDetector, StripeDetector,
            OpenAIDetector, NpmDetector, PypiTokenDetector, SendGridDetector, SquareOAuthDetector,
            AzureStorageKeyDetector,
            DiscordBotTokenDetector, TelegramBotTokenDetector, TwilioKeyDetector, JwtTokenDetector, BasicAuthDetector,
        )
    )  # fmt: skip
