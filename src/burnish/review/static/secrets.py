"""Finds passwords and keys on changed lines. Remarks never contain their values."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from burnish.core.change import Change, ChangedFile
from burnish.core.finding import Category, Remark, Severity
from burnish.core.secret_shapes import KEY_BEGIN
from burnish.core.secrets import ASSIGNED, NO_SECRETS, is_allowed
from burnish.review.static.files import SOURCE, FileScan

HIDDEN = "***"
MAX_LINE_LENGTH = 4000
# a name and its value may be on different lines
AROUND = 12

_PLACEHOLDER = re.compile(
    r"example|dummy|sample|fake|change[-_ ]?me|placeholder|your|xxx|redacted|todo|insert|replace|default|foo|bar\b|test"
    r"|mock|secret$|password$|p[a4]ssw[o0]rd|qwerty|123456|abcdef|not[-_ ]?a[-_ ]?|none|null|undefined|hidden|<|>"
    r"|\*\*|\.\.\.",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"^\$|\$\{|\{\{|\{[\w.]*\}|%\(|^env[.(]|process\.env|os\.environ|getenv|^vault:|^arn:|^/|^\.|^https?://|::"
)
_NOT_A_SECRET_NAME = re.compile(
    r"(?:name|field|id|path|file|dir|url|uri|hash|digest|checksum|integrity|label|header|param|type|env|var|ref|arn|length|min"
    r"|max|regex|pattern|policy|hint|prompt|help|errors?|message|title|column|attr|version|strength|manager|store|rotation"
    r"|algorithm|class|selector|input|prefix|suffix|format|scope|service|key_?id|public_?key|provider|expiry|ttl)s?$",
    re.IGNORECASE,
)
_KEY_BODY = re.compile(r"[A-Za-z0-9+/=]{20,}|^\s*(?=[^\s]*[0-9+/=])(?=[^\s]*[A-Z])[A-Za-z0-9+/=]{8,}\s*$", re.MULTILINE)
# kinds that are common in tests, docs and generated files: lower severity there
_SOFT = {
    "JWT": Severity.WARNING,
    "password in an address": Severity.WARNING,
    "private key": Severity.WARNING,
    ASSIGNED: Severity.INFO,
}
# words in the names of passwords and keys
_TELLING = (
    r"(?:api|auth|service|account|db|database|priv|private|client)_?key|(?:db|database|key)_?pass|passw(?:or)?d|pwd|secret"
    r"|contrase[nñ]a"
)
# such a name and the value assigned to it; without quotes, up to the end of the line or of the string around it
_NAMED_VALUE = re.compile(
    rf"(?P<name>(?:{_TELLING})\w{{0,80}})['\"\]]{{0,2}}(?:\[\d*\])?\s*(?P<sign>:=|=>|={{1,3}}|:)\s*@?"
    r"(?:(?P<quote>['\"`])(?P<quoted>\w[^'\"\v]*?)(?P=quote)|(?P<bare>\w[^\s'\"]*)(?=['\"]|\s*$))",
    re.IGNORECASE,
)
# test data
_FIXTURE = re.compile(r"(?:^|/)(?:__)?(?:fixtures?|test[-_]?data|mocks?)(?:__)?/")
# `secret = generate.NewSecret64()`, and what follows the password in `addr=:6379,password=abc,db=0`
_CALL = re.compile(r"[A-Za-z_][\w.]*\(.*")
_NEXT_OPTION = re.compile(r",\w+=.*")
# `a-jwt-secret-with-at-least-32-characters`
_SENTENCE = re.compile(r"(?:[a-z]+|\d{1,3})(?:[-_](?:[a-z]+|\d{1,3})){5,}")
_LONG_WORD = re.compile(r"[^\s'\"]{8,}")
# files in which values need no quotes
_CONFIG = (".yml", ".yaml", ".eyaml", ".ini", ".cfg", ".conf", ".cnf", ".cf", ".env", ".properties", ".toml")


@dataclass(frozen=True, slots=True)
class Secret:
    line: int
    value: str
    kind: str
    severity: Severity


def secrets(file: FileScan) -> Iterator[Secret]:
    """All secrets on changed lines; a line may have several.

    Includes everything that redaction and the commit guard detect, and values assigned to names of passwords.
    """
    if not file.changed:
        return
    soft = file.is_test or file.is_docs or file.is_lock or _FIXTURE.search(file.path) is not None
    found_secrets = list(
        {(secret.line, secret.value): secret for secret in _detected_secrets(file, soft=soft)}.values()
    )
    keys = {secret.line for secret in found_secrets if secret.kind == "private key"}
    found_secrets += (secret for secret in _short_keys(file, soft=soft) if secret.line not in keys)
    yield from found_secrets
    for number in [] if soft else _readable(file):
        if _may_hold_a_named_secret(file.line(number)):
            values_on_line = [secret.value for secret in found_secrets if secret.line == number]
            yield from (
                candidate
                for candidate in _by_name(file, number)
                if not any(candidate.value in value for value in values_on_line)
            )


def _may_hold_a_named_secret(line: str) -> bool:
    words = _LONG_WORD.findall(line) if re.search(_TELLING, line, re.IGNORECASE) else ()
    return any(re.search(r"\d", word) and re.search(r"[A-Za-z]", word) for word in words)


def _readable(file: FileScan) -> list[int]:
    numbers = (n for n in sorted(file.changed) if len(file.line(n)) <= MAX_LINE_LENGTH)
    return [n for n in numbers if not is_allowed(file.lines, n - 1)]


def secret_remark(file: FileScan, secret: Secret) -> Remark:
    return file.remark(
        "secret",
        secret.severity,
        f"Hard-coded {secret.kind}",
        "Anyone who can read the repository can use it. Deleting the line later does not remove it from the history.",
        category=Category.SECURITY,
        line=secret.line,
        suggestion="Read it from the environment or a secret store, and revoke the one that was committed. "
        "Mark a line without a secret with a comment: burnish: allow-secret",
    )


def redact_values(text: str, values: list[str]) -> str:
    for value in values:
        text = text.replace(value, HIDDEN)
    return text


def _detected_secrets(file: FileScan, *, soft: bool) -> Iterator[Secret]:
    """Secrets on changed lines that redaction detects by pattern."""
    lines = _lines_to_search(file)
    text = "\n".join(lines)
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    for start, end, kind in NO_SECRETS.spans(text):
        first, last = (bisect_right(starts, at) for at in (start, max(start, end - 1)))
        number = next((n for n in range(first, last + 1) if n in file.changed), None)
        if number is None or is_allowed(file.lines, first - 1):
            continue
        value = text[max(start, starts[number - 1]) : min(end, starts[number] - 1)]
        yield Secret(number, value, kind, _SOFT.get(kind, Severity.ERROR) if soft else Severity.ERROR)


def _lines_to_search(file: FileScan) -> Sequence[str]:
    """The changed lines and some around them, the others empty, so that a long file does not take long."""
    # a private key may be longer than the context
    if "PRIVATE KEY" in file.text:
        return file.lines
    near = bytearray(len(file.lines) + 1)
    for number in file.changed:
        first, last = max(number - AROUND, 1), min(number + AROUND, len(file.lines))
        near[first : last + 1] = b"\1" * (last + 1 - first)
    return [line if near[number] else "" for number, line in enumerate(file.lines, 1)]


def _short_keys(file: FileScan, *, soft: bool) -> Iterator[Secret]:
    """Private keys that are too short or too fragmented for their format, outside of tests."""
    for number in [] if file.is_test else _readable(file):
        line = file.line(number)
        if KEY_BEGIN.search(line) and _key_follows(file, number, line):
            yield Secret(number, line.strip(), "private key", _SOFT["private key"] if soft else Severity.ERROR)


def _by_name(file: FileScan, number: int) -> Iterator[Secret]:
    """Secrets that are recognised by the name they are assigned to."""
    for name, value in _named_values(file.path, file.line(number)):
        if _NOT_A_SECRET_NAME.search(name) or not _looks_random(value):
            continue
        strong = len(value) >= 16 and _entropy(value) >= 3.5
        yield Secret(number, value, "password or key", Severity.ERROR if strong else Severity.WARNING)


def _looks_random(value: str) -> bool:
    """Whether it is a word of eight or more letters and digits, and not a name, a reference or a placeholder."""
    if len(value) < 8 or re.search(r"\s", value) or _REFERENCE.search(value) or _is_placeholder(value):
        return False
    if not (re.search(r"\d", value) and re.search(r"[A-Za-z]", value)):
        return False
    # `auth-v2`, `db_1.users` are names: words with a number at the end
    if re.fullmatch(r"[A-Za-z]+(?:[-_./:][A-Za-z]+)*[-_./:]?v?\d{0,3}", value) or _SENTENCE.fullmatch(value):
        return False
    return _entropy(value) >= 2.5


def _is_placeholder(value: str) -> bool:
    return bool(_PLACEHOLDER.search(value)) or len(set(value)) < 6


def _key_follows(file: FileScan, number: int, line: str) -> bool:
    rest = line.partition("-----BEGIN")[2].partition("KEY")[2]
    near = [rest.replace("\\n", "\n"), *(file.line(number + step) for step in (1, 2, 3, 4))]
    return "-----BEGIN" in line and any(_KEY_BODY.search(text) and not _PLACEHOLDER.search(text) for text in near)


def _entropy(value: str) -> float:
    counts = Counter(value)
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())


def _named_values(path: str, line: str) -> Iterator[tuple[str, str]]:
    """Names of passwords and keys, and the values that are assigned to them."""
    is_config = path.endswith(_CONFIG) or "/.env" in f"/{path}"
    for match in _NAMED_VALUE.finditer(line):
        if match["quoted"]:
            yield match["name"], match["quoted"]
        elif is_config or (path.endswith(".go") and match["sign"] != ":"):
            value = match["bare"].rstrip(";,`")
            yield match["name"], "" if _CALL.match(value) else _NEXT_OPTION.sub("", value)


# -- stored ---------------------------------------------------------------------------------------
# Finds secrets in link targets, file names and content that is not text.

# a search takes about a second for 20 MB
MAX_SEARCHED_BYTES = 64 * 1024 * 1024

BaseText = Callable[[str], str | None]


def stored_secrets(
    change: Change, scans: Mapping[str, FileScan], base_text: BaseText, new_data: Callable[[str], bytes | None]
) -> Iterator[Remark]:
    """Remarks on secrets that are not in lines of text; the commit guard refuses the same ones."""
    for file in change.files:
        if file.status == "D":
            continue
        found = [("the name of a file", kind) for kind in _in_name(file)]
        if file.new_mode == "120000":
            found += [("the target of a link", kind) for kind in _in_link(file, new_data(file.path), base_text)]
        elif file.path in scans and not scans[file.path].is_inspected:
            found += [("content that is not shown", kind) for kind in _in_bytes(scans[file.path])]
        yield from (_remark(file, place, kind) for place, kind in found)


def _in_name(file: ChangedFile) -> list[str]:
    if file.status not in "AR":
        return []
    return _kinds(file.path, old=file.old_path or "")


def _in_link(file: ChangedFile, data: bytes | None, base_text: BaseText) -> list[str]:
    target = (data or b"").decode(errors="replace")
    old = None if file.status == "A" else base_text(file.old_path or file.path)
    return _kinds(target, old=old or "")


def _in_bytes(file: FileScan) -> list[str]:
    if len(file.data) > MAX_SEARCHED_BYTES:
        return []
    kinds = [leak.kind for leak in NO_SECRETS.find_values(file.data)]
    old = (file.before() or "").encode(errors="replace") if kinds else b""
    old_kinds = {leak.kind for leak in NO_SECRETS.find_values(old)}
    return [kind for kind in kinds if kind not in old_kinds]


def _kinds(text: str, *, old: str) -> list[str]:
    return list(dict.fromkeys(leak.kind for leak in NO_SECRETS.find_new(text, old=old)))


def _remark(file: ChangedFile, place: str, kind: str) -> Remark:
    return Remark(
        Category.SECURITY,
        Severity.ERROR,
        f"Hard-coded {kind} in {place}",
        "Anyone who can read the repository can use it. Deleting it later does not remove it from the history.",
        "Read it from the environment or a secret store, and revoke the one that was committed.",
        NO_SECRETS.redact(file.path),
        rule="secret",
        source=SOURCE,
    )
