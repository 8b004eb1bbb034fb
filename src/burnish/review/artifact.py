"""`review-cycle-N.md`: facts as YAML front matter, and a Markdown body."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from burnish.bounded_yaml import load_yaml
from burnish.core.review import Verdict
from burnish.errors import BurnishError
from burnish.review.quoting import quoted, unquoted
from burnish.review.reading import clean

LIMIT = 10 * 1024
SMALLEST_BODY = 2048
# a change of 10,000 files has 40,000
MAX_FACTS = 60_000
# verdicts, and results of a cycle without a verdict
VERDICTS = frozenset({*(verdict.value for verdict in Verdict), "unreadable", "skipped"})

_WORDS = ("commit", "tree", "base", "diff", "reproduction_command")
_KEYS = (
    *("task", "cycle", "verdict", "reviewers", "commit", "tree", "base", "diff", "affected_files"),
    *("reproduction_command", "findings", "arbiter_override"),
)


class MalformedArtifact(BurnishError):
    """An artifact that cannot be read. It never counts as an approval."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(
            f"{name} is damaged: {why}.",
            hint="No decision depends on it: the event log is authoritative. `burnish show` shows the cycle.",
        )
        self.name = name


@dataclass(frozen=True, slots=True)
class ArtifactReviewer:
    """One reviewer in the front matter."""

    agent: str
    model: str | None = None
    provider: str = ""
    command: str = ""
    reviewed_at: str = ""
    verdict: str = "unreadable"
    blocking: bool = False
    summary: str = ""
    raw_sha256: str = ""
    # step of the pipeline: `review` or the step's name; "" without a pipeline
    step: str = ""


@dataclass(frozen=True, slots=True)
class AffectedFile:
    path: str
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class ReviewArtifact:
    """The content of one `review-cycle-N.md`."""

    task: str
    cycle: int
    verdict: str
    reviewers: tuple[ArtifactReviewer, ...] = ()
    commit: str = ""
    tree: str = ""
    base: str = ""
    # path of the stored diff
    diff: str = ""
    affected_files: tuple[AffectedFile, ...] = ()
    reproduction_command: str = ""
    findings: tuple[str, ...] = ()
    arbiter_override: Mapping[str, Any] | None = None
    body: str = ""


def file_name(cycle: int) -> str:
    return f"review-cycle-{cycle}.md"


def cycle_of(name: str) -> int | None:
    """The cycle in the name of an artifact; None for other files."""
    match = re.fullmatch(r"review-cycle-([1-9][0-9]{0,5})\.md", name)
    return int(match[1]) if match else None


def render_artifact(artifact: ReviewArtifact, *, link: str = "", limit: int = LIMIT) -> str:
    """The text of the file; a body over the limit is cut, with a link to the full text."""
    head = f"---\n{emit(_facts(artifact))}---\n\n"
    body = _text(artifact.body)
    room = max(SMALLEST_BODY, limit - len(head.encode()))
    return head + (cut(body, room, link) if link else body)


def _facts(artifact: ReviewArtifact) -> dict[str, Any]:
    rows = [{name: getattr(one, name) for name in ArtifactReviewer.__slots__} for one in artifact.reviewers]
    # without a pipeline there are no steps to name
    reviewers = [{name: value for name, value in row.items() if name != "step" or value} for row in rows]
    files = [{"path": quoted(f.path), "start": f.start, "end": f.end} for f in artifact.affected_files]
    return {key: getattr(artifact, key) for key in _KEYS} | {"reviewers": reviewers, "affected_files": files}


def _text(body: str) -> str:
    """Normalised text, which stays the same when it is written and read again."""
    whole = clean(body)
    return whole if whole.endswith("\n") or not whole else whole + "\n"


def cut(text: str, limit: int = LIMIT, link: str = "") -> str:
    """At most `limit` bytes, with a link to the full text at the end."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit:
        return text
    where = f"\n\n[Cut here: {len(raw):,} bytes in all. Full text: {link}]\n"
    head = raw[: max(0, limit - len(where.encode()))].decode("utf-8", "ignore")
    return head + where


def parse_artifact(text: str, name: str) -> ReviewArtifact:
    """Parse an artifact; raises `MalformedArtifact`. `name` is the file name for the error."""
    text = re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))
    parts = re.match(r"---\n(.*?\n)---\n\n?(.*)", text, re.DOTALL)
    if not parts:
        raise MalformedArtifact(name, "it has no front matter")
    try:
        return _artifact(load(parts[1], most=MAX_FACTS), parts[2])
    except ValueError as why:
        raise MalformedArtifact(name, str(why)) from None


def _artifact(facts: dict[str, Any], body: str) -> ReviewArtifact:
    missing = [key for key in _KEYS if key not in facts]
    if missing:
        raise ValueError(f"{', '.join(missing)} missing")
    verdict = _string(facts, "verdict")
    if verdict not in VERDICTS:
        raise ValueError(f"unknown verdict {verdict[:40]!r}")
    override = facts["arbiter_override"]
    if override is not None and not isinstance(override, dict):
        raise ValueError("arbiter_override is not a list of keys and values")
    commit, tree, base, diff, reproduction = (_string(facts, key) for key in _WORDS)
    return ReviewArtifact(
        task=_string(facts, "task"),
        cycle=_number(facts, "cycle"),
        verdict=verdict,
        reviewers=tuple(_reviewer(one) for one in _mappings(facts, "reviewers")),
        affected_files=tuple(_affected(one) for one in _mappings(facts, "affected_files")),
        findings=tuple(_findings(facts)),
        arbiter_override={str(k): v if _flat(v) else str(v) for k, v in override.items()} if override else override,
        body=body,
        commit=commit,
        tree=tree,
        base=base,
        diff=diff,
        reproduction_command=reproduction,
    )


def _reviewer(one: dict[str, Any]) -> ArtifactReviewer:
    blocking = one.get("blocking", False)
    if not isinstance(blocking, bool):
        raise ValueError("a reviewer's blocking is neither true nor false")
    verdict = _string(one, "verdict")
    if verdict not in VERDICTS:
        raise ValueError(f"unknown verdict {verdict[:40]!r} of a reviewer")
    model = None if one.get("model") is None else _string(one, "model")
    words = {key: _string(one, key) for key in ("agent", "provider", "command", "reviewed_at", "summary", "raw_sha256")}
    # artifacts of earlier versions have no steps
    step = _string(one, "step") if "step" in one else ""
    return ArtifactReviewer(model=model, verdict=verdict, blocking=blocking, step=step, **words)


def _affected(one: dict[str, Any]) -> AffectedFile:
    start, end = (None if one.get(key) is None else _number(one, key) for key in ("start", "end"))
    return AffectedFile(unquoted(_string(one, "path")), start, end)


def _findings(facts: dict[str, Any]) -> list[str]:
    ids = facts["findings"]
    if not isinstance(ids, list) or not all(isinstance(id_, str) for id_ in ids):
        raise ValueError("findings is not a list of ids")
    return ids


def _mappings(facts: dict[str, Any], key: str) -> list[dict[str, Any]]:
    value = facts[key]
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise ValueError(f"{key} is not a list of entries")
    return value


def _string(facts: dict[str, Any], key: str) -> str:
    value = facts.get(key)
    if not isinstance(value, str):
        raise ValueError(f"{key} is not text")
    return value


def _number(facts: dict[str, Any], key: str) -> int:
    value = facts.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{key} is not a number")
    return value


def _flat(value: Any) -> str | int | bool | None:
    return value if value is None or isinstance(value, str | int | bool) else str(value)


# -- frontmatter ----------------------------------------------------------------------------------
# YAML front matter with a deterministic writer: equal facts give equal bytes.

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_PLAIN_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"})
MAX_ENTRIES = 3_000
_SHORT = {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def emit(facts: Mapping[str, Any]) -> str:
    """Write YAML in block style: scalars, lists of scalars or mappings, mappings of scalars."""
    return "".join(f"{key}:{_value(value)}" for key, value in facts.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        rows = "".join(f"  {key}: {scalar(one)}\n" for key, one in value.items())
        return f"\n{rows}" if value else " {}\n"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "\n" + "".join(_item(one) for one in value) if value else " []\n"
    return f" {scalar(value)}\n"


def _item(value: Any) -> str:
    if not isinstance(value, Mapping):
        return f"  - {scalar(value)}\n"
    rows = [f"{key}: {scalar(one)}\n" for key, one in value.items()]
    return "  - " + "    ".join(rows)


def scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    text = str(value)
    if _PLAIN.fullmatch(text) and text.lower() not in _PLAIN_WORDS:
        return text
    return '"' + "".join(_char(char) for char in text.encode("utf-8", "replace").decode()) + '"'


def _char(char: str) -> str:
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    # printable characters of YAML, without line separators
    if 0x20 <= code <= 0x7E or (0xA0 <= code <= 0xD7FF and code not in (0x2028, 0x2029)):
        return char
    if 0xE000 <= code <= 0xFFFD and code != 0xFEFF:
        return char
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def load(text: str, *, most: int = MAX_ENTRIES) -> dict[str, Any]:
    """Parse front matter of at most so many entries; raises `ValueError` with the reason."""
    from ruamel.yaml.error import YAMLError

    try:
        facts = load_yaml(text, most=most)
    except (YAMLError, ValueError) as why:
        raise ValueError(str(why).split("\n")[0]) from None
    if not isinstance(facts, dict):
        raise ValueError("it is not a list of keys and values")
    return facts
