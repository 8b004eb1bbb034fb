"""What secrets look like: well-known formats, and words that are given a random value. Group `secret` is the secret."""

from __future__ import annotations

import base64
import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from urllib.parse import unquote

KEY_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")
KEY_END = re.compile(r"-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")
KEY_LINE = re.compile(
    r"[-+ \t>|\"']*(?:[A-Za-z0-9+/=]{1,120}|(?:Proc-Type|DEK-Info|Version|Comment):.*)?[\"',\\nr]*\s*"
)

_STAND_IN = re.compile(
    r"example|placeholder|dummy|change_?me|redacted|your[_-]|x{4,}|\*{3,}|\.{3}|<|\$\{|\{\{|0{8}", re.I
)
_MADE_UP = re.compile(
    r"sample|test|fake|mock|fixture|insert|foobar|lorem|replace|todo|not[_-]|1234567|abcdef|deadbeef|removed\]|"
    r"my[_-]?(?:secret|token|key|pass)|p[a@4]ss(?:w[o0]rd|wd)|secret|token|hunter2|letmein|qwerty|admin|"
    r"(?:^|[_.-])(?:key|foo|bar|baz|abc|none|null)(?:$|[_.-])",
    re.I,
)
_NO_SECRET = re.compile(
    # a hash, an id, an address
    r"(?:sha\d+|md5|h1|blake\w*)[-:=].*|\$(?:2[abxy]|argon2\w*|pbkdf2\S*|[156])\$.*|pbkdf2\S*\$.*|.*://.*"
    r"|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
    # a piece of code, a name, a path
    r"|[A-Za-z_][\w-]*(?:[./:@][\w-]+)+.*|.*[(){}\[\]<>;,|&].*|[A-Za-z_]+\d?(?:[-_][A-Za-z]+\d?)*|(?:[A-Z][a-z]{2,}\d?)+|[/.~$%@].*|[A-Za-z]:\\.*"
)


# Values that standards and vendors print in their documentation.
_PUBLISHED = frozenset(
    ("2YotnFZFEjr1zCsicMWpAA", "tGzv3JOkF0XG5Qx2TlKWIA", "mF_9.B5f-4.1JqM")  # burnish: allow-secret (RFC 6749, 6750)
)
# Claims of tokens in documentation: jwt.io, Supabase, PyJWT.
_SAMPLE_CLAIMS = re.compile(
    r"example\.(?:com|org|net)\b|John Doe|Jane Doe|\"1234567890\"|supabase-demo|\"some\": ?\"payload\""
)
# Where a list goes on, or what a text is cut into.
_POSITION = re.compile(r"(?:page|next|previous|prev|continuation|pagination|sync)[_-]?$", re.I)

_IN_WORD = re.compile(r"[A-Za-z0-9_+/=-]")


@dataclass(frozen=True, slots=True)
class Shape:
    """One well-known format. A text without any of `hints` need not be searched."""

    kind: str
    hints: tuple[str, ...]
    pattern: str
    # no part of a longer word: a hash or an image in base64 must not be cut up
    whole: bool = True
    # its prefix is common in other text, so more evidence is needed
    strict: bool = False
    # part of each secret, quicker to search for than the whole because it begins with a literal
    part: str = ""
    # what is written, and at least how long it is, where the text has it encoded
    decode: Callable[[str], str] = str
    shortest: int = 0

    def hits(self, text: str, edges: Sequence[int] = ()) -> Iterator[re.Match[str]]:
        """`edges`: further positions at which a word may begin and end, in ascending order."""
        if not self._is_possible(text):
            return
        if edges and self.whole:
            yield from self._hits_at_edges(text, edges)
        else:
            yield from (hit for hit in compiled(self).finditer(text) if self._counts(hit))

    def _hits_at_edges(self, text: str, edges: Sequence[int]) -> Iterator[re.Match[str]]:
        at = 0
        while found := _with_any_end(self).search(text, at):
            hit = self._whole_word(found, edges)
            if hit and self._counts(hit, edges):
                yield hit
                at = hit.end()
            else:
                at = found.start() + 1

    def _whole_word(self, found: re.Match[str], edges: Sequence[int]) -> re.Match[str] | None:
        """The longest secret from there on that ends where a word does."""
        text, start = found.string, found.start()
        if whole := compiled(self).match(text, start):
            return whole
        ends = edges[bisect_right(edges, start) : bisect_right(edges, found.end())]
        cut = (_with_any_end(self).fullmatch(text, start, end) for end in reversed(ends))
        return next((hit for hit in cut if hit), None)

    def sub(self, text: str, replacement: Callable[[re.Match[str]], str]) -> str:
        if not self._is_possible(text):
            return text
        return compiled(self).sub(lambda hit: replacement(hit) if self._counts(hit) else hit[0], text)

    def _is_possible(self, text: str) -> bool:
        return any(map(text.__contains__, self.hints)) and (
            not self.part or _pattern(self.part).search(text) is not None
        )

    def _counts(self, hit: re.Match[str], edges: Sequence[int] = ()) -> bool:
        # looked at here, not by the pattern: one that begins with a literal is found much faster
        start = hit.start()
        before = hit.string[start - 1 : start]
        # hashes and images have ASCII letters only; text in Chinese or Japanese has no blank before a key
        in_word = before.isascii() and (before.isalnum() or (self.strict and _continues_word(hit.string, start - 1)))
        if self.whole and in_word and not _is_in(edges, start):
            return False
        value = self.decode(hit["secret"])
        if self.shortest and len(value) < self.shortest:
            return False
        return not (is_stand_in(value) or (self.strict and (_MADE_UP.search(value) or value.isalpha())))


def _continues_word(text: str, at: int) -> bool:
    """Whether the sign may stand inside of base64 or a path: no `KEY=`, and no mark of a diff."""
    if at < 0 or text[at] == "=":
        return False
    return _IN_WORD.match(text, at) is not None and not (text[at] in "+-" and text[at - 1 : at] in ("", "\n"))


def _is_in(positions: Sequence[int], position: int) -> bool:
    """In ascending order."""
    at = bisect_left(positions, position)
    return at < len(positions) and positions[at] == position


_pattern = cache(re.compile)


@cache
def compiled(shape: Shape) -> re.Pattern[str]:
    if not shape.whole:
        return re.compile(shape.pattern)
    # a path, an address or base64 may go on behind a token: only letters and digits would be a part of it
    end = _IN_WORD.pattern if shape.strict else "[A-Za-z0-9]"
    return re.compile(rf"(?P<secret>{shape.pattern})(?!{end})")


@cache
def _with_any_end(shape: Shape) -> re.Pattern[str]:
    return re.compile(rf"(?P<secret>{shape.pattern})")


def _claims(token: str) -> str:
    """The claims of a JWT, or the token if it has none that can be read."""
    payload = token.split(".")[1]
    try:
        return base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)).decode()
    except ValueError:
        return token


_ADDRESS = r"[^\s:@/\"'<>{}$\\]"
_KEY_BODY = (
    rf"(?=[\s\S]{{0,400}}?[A-Za-z0-9+/]{{32}})(?:(?!-----)[\s\S]){{40,20000}}?{KEY_END.pattern}"
    r"|(?:\\[nr]|\s)*(?:[-+]?[A-Za-z0-9+/=]{20,}(?:\\[nr]|\s)*)+"
)

SHAPES: tuple[Shape, ...] = (
    Shape("private key", ("PRIVATE KEY",), rf"(?P<secret>{KEY_BEGIN.pattern}(?:{_KEY_BODY}))", whole=False),
    Shape("AWS key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    Shape("GitHub token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    Shape("GitHub token", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{36,255}"),
    Shape(
        "GitLab token",
        ("glpat-", "glptt-", "glrt-", "gldt-", "glsoat-", "glcbt-", "glagent-", "glffct-", "glimt-"),
        r"gl(?:pat|ptt|rt|dt|soat|cbt|agent|ffct|imt)-[A-Za-z0-9_.-]{20,300}",
    ),
    Shape("Slack token", ("xox",), r"xox[abeoprs]-(?:[0-9A-Za-z]+-){1,5}[0-9A-Za-z]{8,}"),
    Shape("Slack token", ("xapp-",), r"xapp-\d-[A-Z0-9]+-\d+-[a-z0-9]{20,}"),
    Shape(
        "Slack webhook",
        ("hooks.slack.com",),
        r"(?P<secret>https://hooks\.slack\.com/(?:services|workflows)/(?=[A-Za-z_/]*\d)[A-Za-z0-9_/]{20,})",
        whole=False,
    ),
    Shape(
        "Discord webhook",
        ("/api/webhooks/",),
        r"(?P<secret>https://discord(?:app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]{40,})",
        whole=False,
    ),
    Shape(
        "Discord token",
        (".",),
        r"[MNO][A-Za-z\d]{23,25}\.[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27,38}",
        strict=True,
        part=r"\.[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27}",
    ),
    Shape("Stripe key", ("k_live_", "k_test_", "whsec_"), r"(?:[sr]k_(?:live|test)|whsec)_[0-9A-Za-z]{20,250}"),
    Shape("Anthropic key", ("sk-ant-",), r"sk-ant-[A-Za-z0-9_-]{20,250}"),
    Shape("OpenRouter key", ("sk-or-",), r"sk-or-v1-[0-9a-f]{40,80}"),
    Shape("OpenAI key", ("sk-",), r"sk-(?:proj-|svcacct-|admin-)[A-Za-z0-9_-]{20,250}"),
    Shape("OpenAI key", ("sk-",), r"sk-(?=[A-Za-z]*\d)[A-Za-z0-9]{32,250}"),
    Shape("Google key", ("AIza",), r"AIza[0-9A-Za-z_-]{35}"),
    Shape("Google key", ("GOCSPX-", "ya29."), r"GOCSPX-[0-9A-Za-z_-]{28}|ya29\.[0-9A-Za-z_-]{30,300}"),
    Shape("Hugging Face token", ("hf_",), r"hf_[A-Za-z0-9]{34,60}"),
    Shape("npm token", ("npm_",), r"npm_[A-Za-z0-9]{36}"),
    Shape("npm token", ("_authToken",), r":_authToken\s*=\s*\"?(?P<secret>[\w.~+/=:%-]{12,300})", whole=False),
    Shape("PyPI token", ("pypi-",), r"pypi-[A-Za-z0-9_-]{50,300}"),
    Shape("SendGrid key", ("SG.",), r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    Shape("Twilio key", ("SK",), r"SK[0-9a-f]{32}", strict=True),
    # the word `key` of the prefix would make it a made-up one
    Shape("Mailgun key", ("key-",), r"key-[0-9a-f]{32}", strict=True, decode=lambda key: key.removeprefix("key-")),
    Shape("Mailchimp key", ("-us",), r"[0-9a-f]{32}-us\d{1,2}", strict=True),
    Shape("Square token", ("sq0",), r"sq0(?:atp|csp)-[A-Za-z0-9_-]{22,43}"),
    Shape("Shopify token", ("shp",), r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    Shape("DigitalOcean token", ("_v1_",), r"do[op]_v1_[a-f0-9]{64}"),
    Shape("Vault token", ("hvs.", "hvb.", "hvr."), r"hv[sbr]\.[A-Za-z0-9_-]{24,300}"),
    Shape("Doppler token", ("dp.",), r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,60}"),
    Shape("Linear key", ("lin_",), r"lin_(?:api|oauth)_[A-Za-z0-9]{32,64}"),
    Shape("Databricks token", ("dapi",), r"dapi[0-9a-f]{32}(?:-\d)?"),
    Shape("Telegram token", (":AA",), r"\d{8,10}:AA[A-Za-z0-9_-]{33}"),
    Shape(
        "Azure key",
        ("AccountKey=", "SharedAccessKey="),
        r"(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{40,100}={0,2})",
        whole=False,
    ),
    Shape("age key", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    # limited: a megabyte of `eyJ` would be read to its end from each of its letters
    Shape(
        "JWT",
        ("eyJ",),
        r"eyJ[A-Za-z0-9_-]{10,4000}+\.eyJ[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]{20,}",
        part=r"\.eyJ[A-Za-z0-9_-]{10,}+\.",
        decode=_claims,
    ),
    Shape(
        "bearer token",
        ("earer ",),
        r"[Bb]earer +(?P<secret>(?=[A-Za-z._~+/-]{0,80}\d)[A-Za-z0-9._~+/-]{20,}={0,2})",
        whole=False,
        strict=True,
    ),
    Shape(
        "password in an address",
        ("://",),
        rf"(?<=[a-z0-9+.-])://{_ADDRESS}{{0,80}}:(?P<secret>{_ADDRESS}{{6,120}})@[\w\[]",
        whole=False,
        strict=True,
        decode=unquote,
        shortest=6,
    ),
)


def possible_shapes(text: str) -> tuple[Shape, ...]:
    """Those of whose hints the text has one."""
    return tuple(shape for shape in SHAPES if any(map(text.__contains__, shape.hints)))


_WORDS = (
    *("password", "passwd", "passphrase", "pwd", "secret", "token", "credential"),
    *("api[_-]?key", "access[_-]?key", "auth[_-]?key", "private[_-]?key"),
)
# what the name of a secret does not end in
_NO_TAIL = r"(?![\w-]*(?i:hash|digest|sum|url|uri|path|file|name|type|id\b|header|field|prefix|sha))"


def _any_case(word: str) -> str:
    """Spelled out: with a first letter that is fixed, `re` is ten times as fast as with IGNORECASE."""
    rest = re.sub(r"[a-z]", lambda letter: f"[{letter[0]}{letter[0].upper()}]", word[1:])
    return f"{word[0]}{rest}|{word[0].upper()}{rest}"


@cache
def _assigned() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A word for a secret, and a value that follows it: quoted anywhere, bare at the end of a line."""
    value = (
        r"(?:\\?[\"'])?\]?\s{0,10}(?::=|=>|={1,3}|:)\s{0,10}(?P<q>\\?[\"'`])(?P<quoted>[^\s\"'`\\]{12,200})(?P=q)"
        r"|[ \t]*[=:][ \t]*(?P<bare>[^\s\"'`#\\]{12,200})[ \t]*$"
    )
    return re.compile("|".join(map(_any_case, _WORDS))), re.compile(rf"{_NO_TAIL}[\w-]{{0,30}}(?:{value})", re.M)


def assignments(text: str) -> Iterator[tuple[int, int]]:
    """Positions of random values that are assigned to a password, key or token."""
    word, value = _assigned()
    last_end = 0
    for name in word.finditer(text):
        hit = value.match(text, name.end())
        group = "quoted" if hit and hit["quoted"] else "bare"
        if not hit or hit.start(group) < last_end or _is_position(text, name):
            continue
        if looks_random(hit[group]):
            last_end = hit.end(group)
            yield hit.span(group)


def _is_position(text: str, name: re.Match[str]) -> bool:
    """`page_token`, `nextPageToken`: they are sent to everyone who reads a list."""
    return name[0].lower() == "token" and _POSITION.search(text, max(name.start() - 14, 0), name.start()) is not None


def is_stand_in(value: str) -> bool:
    """Whether it is a placeholder: `AKIA…EXAMPLE`, `xxxx`, `<your key>`."""
    if value.startswith("-----BEGIN"):
        body = value.partition("-----BEGIN")[2].partition("-----")[2]
        return len(set(body)) < 20 or "..." in body or "…" in body
    if value.startswith("{"):  # claims: Azure's have long rows of zeros
        return _SAMPLE_CLAIMS.search(value) is not None
    return len(set(value)) < 4 or value in _PUBLISHED or _STAND_IN.search(value) is not None


def looks_random(value: str) -> bool:
    """Whether it has high entropy and is not a hash, name, path or piece of code."""
    if is_stand_in(value) or _MADE_UP.search(value) or _NO_SECRET.fullmatch(value):
        return False
    if not re.search(r"\d", value) or not re.search(r"[A-Za-z]", value):
        return False
    return _entropy(value) >= 3.2


def _entropy(text: str) -> float:
    counts = Counter(text).values()
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts)
