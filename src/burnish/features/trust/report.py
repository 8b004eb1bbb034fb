"""What a checkout would run and read if it were trusted, in the words of its own files."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from burnish.adapters.checkout_files import committable_files, detection_context, file_reader
from burnish.adapters.redaction import secrets_from_environment
from burnish.checks.discover import detect
from burnish.config.repository import is_inside
from burnish.config.sources import Layer
from burnish.core.secrets import Secrets, mask, mask_all
from burnish.errors import BurnishError, Refused, Untrusted
from burnish.git.discovery import FoundRepository
from burnish.runtime.trust import CheckoutTrust, check_settings, examine, grant

# keys whose value names a program, or an agent that is one; `*` is any name or number
PROGRAMS = (
    "agent", "agents.*.kind", "agents.*.argv", "agents.*.script", "roles.*", "review.agents", "review.slash_command",
    "pipeline", "checks.test", "checks.lint", "checks.lint_fix", "checks.build", "checks.extra.*", "workspace.setup",
)  # fmt: skip
ENVIRONMENT = ("agents.*.env", "isolation.env")
_PATH = re.compile(r"(?:^|(?<=[\s=:,;'\"(]))(?:/|~|\.\.(?:/|$))\S*|(?<=/)\.\./\S*")


class ChangedSinceShown(Refused):
    """The checkout is not what a person was shown, so nothing was accepted."""


@dataclass(frozen=True, slots=True)
class NamedThing:
    """A program, a variable or a path in the settings: key, value and location."""

    key: str
    value: Any
    place: str

    @property
    def words(self) -> str:
        if isinstance(self.value, str):
            return self.value
        if isinstance(self.value, list) and all(isinstance(one, str) for one in self.value):
            return shlex.join(self.value)
        return json.dumps(self.value, ensure_ascii=False, default=str)

    def as_json(self) -> dict[str, Any]:
        # YAML has dates and binary data, JSON has neither
        return {"key": self.key, "value": json.loads(json.dumps(self.value, default=str)), "place": self.place}


@dataclass(frozen=True, slots=True)
class TrustReport:
    """All that a person needs to decide."""

    trust: CheckoutTrust
    programs: tuple[NamedThing, ...]
    environment: tuple[NamedThing, ...]
    outside: tuple[NamedThing, ...]
    # the difference from what was accepted last, as lines of a unified diff
    difference: tuple[str, ...] = ()
    # why the settings do not load, so that they cannot be accepted
    problem: BurnishError | None = None

    @property
    def id(self) -> str:
        """Names exactly what the report shows, and the exact content of what is accepted.

        It has 128 bits, so that no one can prepare two checkouts with the same id.
        """
        things = [[one.as_json() for one in group] for group in (self.programs, self.environment, self.outside)]
        text = json.dumps([self.trust.content.digest, things], sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def as_json(self) -> dict[str, Any]:
        trust = self.trust
        last = trust.acceptance or (trust.accepted[-1] if trust.accepted else None)
        return {
            "root": str(trust.found.root),
            "trusted": trust.is_trusted,
            "state": trust.state,
            "id": self.id,
            "accepted": {"at": last.at, "by": last.by, "how": last.how} if last else None,
            "programs": [one.as_json() for one in self.programs],
            "environment": [one.as_json() for one in self.environment],
            "outside": [one.as_json() for one in self.outside],
            "files": sorted(trust.content.files),
            "ignored": mask_all(secrets_from_environment(), [one.as_json() for one in trust.content.ignored]),
            "difference": list(self.difference),
            "problem": f"{self.problem.what} {self.problem.hint}".strip() if self.problem else None,
        }


def report_of(trust: CheckoutTrust) -> TrustReport:
    layer = trust.content.layer or Layer("", {})
    programs = [*_chosen(layer, PROGRAMS), *_found_checks(trust.found, layer.data)]
    links = [NamedThing(path, f"link to {target}", path) for path, target in trust.content.links.items()]
    secrets = secrets_from_environment()

    def clean(things: Iterable[NamedThing]) -> tuple[NamedThing, ...]:
        return tuple(replace(one, value=mask_all(secrets, one.value)) for one in things)

    return TrustReport(
        trust,
        clean(programs),
        clean(_variables(layer)),
        clean((*_outside(layer, trust.found.root), *links)),
        tuple(difference(trust, secrets)),
        _settings_problem(trust),
    )


def accept(found: FoundRepository, *, how: str, shown_id: str | None = None) -> TrustReport:
    """Accept the checkout; with `shown_id`, only if a report of it is the one that has this id."""
    report = report_of(examine(found))
    hint = f"See what it would run and read now: {report.trust.command('--show')}"
    if shown_id is not None and report.problem is None and report.id != shown_id:
        what = f"{found.root} is not what {shown_id[:40]!r} names, so nothing was accepted."
        raise ChangedSinceShown(what, hint=hint)
    try:
        return replace(report, trust=grant(found, how=how, shown_trust=report.trust))
    except Untrusted as error:
        raise ChangedSinceShown(error.what, hint=hint) from None


def _settings_problem(trust: CheckoutTrust) -> BurnishError | None:
    try:
        check_settings(trust)
    except BurnishError as problem:
        return problem
    return None


def _found_checks(found: FoundRepository, data: Mapping[str, Any]) -> Iterator[NamedThing]:
    """Checks that the settings leave to burnish to find; what git ignores is in no commit."""
    root = found.root
    checks = data.get("checks")
    settings = checks if isinstance(checks, Mapping) else {}
    for spec in detect(committable_files(found), file_reader(root), detection_context(root)):
        if settings.get(spec.name, "auto") == "auto":
            yield NamedThing(f"checks.{spec.name}", spec.words, "found in the files")


def _chosen(layer: Layer, shapes: tuple[str, ...]) -> Iterator[NamedThing]:
    for shape in shapes:
        for path, value in _at(layer.data, tuple(shape.split("."))):
            if value not in (None, "auto", False):
                yield NamedThing(".".join(path), _command(value), layer.place(path))


def _command(value: Any) -> Any:
    """The command of a check that is written with its other fields."""
    return value["command"] if isinstance(value, Mapping) and "command" in value else value


def _variables(layer: Layer) -> Iterator[NamedThing]:
    for one in _chosen(layer, ENVIRONMENT):
        names = sorted(one.value) if isinstance(one.value, Mapping) else one.value
        if names:
            yield NamedThing(one.key, names, one.place)


def _at(data: Any, shape: tuple[str, ...], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not shape:
        yield path, data
    elif isinstance(data, Mapping):
        for name in [name for name in data if shape[0] in ("*", name)]:
            yield from _at(data[name], shape[1:], (*path, str(name)))


def _outside(layer: Layer, root: Path) -> Iterator[NamedThing]:
    """Every path in the settings, under whatever key, that leads out of the repository."""
    for path, text in _texts(layer.data):
        for word in _paths_in(text, root):
            yield NamedThing(".".join(map(str, path)), word, layer.place(path))


def _texts(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from _texts(one, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for number, one in enumerate(value):
            yield from _texts(one, (*path, number))


def _paths_in(text: str, root: Path) -> list[str]:
    found = [word.strip("'\"();,") for word in _PATH.findall(text)]
    candidates = [text, *text.split(), *found]
    return list(dict.fromkeys(word for word in candidates if _leaves(word, root)))


def _leaves(word: str, root: Path) -> bool:
    if not word or "\0" in word or "\n" in word or len(word) > 4000 or " " in word.strip():
        return False
    if word.startswith("~"):
        return True
    is_path = word.startswith("/") or ".." in word.split("/") or os.path.lexists(root / word)
    # `a/../b` stays inside; a link may lead out of it
    return is_path and "://" not in word and not is_inside(root, root / word)


def difference(trust: CheckoutTrust, secrets: Secrets) -> Iterator[str]:
    """Against what was accepted last; nothing where that is the same, or nothing was accepted.

    Both sides are redacted: of a changed secret, only the name of the file is shown.
    """
    if not trust.accepted or trust.is_trusted or trust.problem:
        return
    last, now = trust.accepted[-1], trust.content
    name = now.layer.name if now.layer else "settings"
    yield from _diff(name, _lines(last.settings), _lines(mask_all(secrets, now.settings)))
    for path in sorted(last.files.keys() | now.files.keys()):
        if last.files.get(path) != now.files.get(path):
            old = _shown(last.texts, last.files, path)
            new = _shown({name: mask(secrets, text) for name, text in now.texts.items()}, now.files, path)
            yield from _diff(path, old, new) if old != new else (f"{path}: changed (content not shown)",)


def _shown(texts: Mapping[str, str], files: Mapping[str, str], path: str) -> list[str]:
    text = texts.get(path)
    # not splitlines(): it also splits at characters that would then be missing from what is shown
    return text.removesuffix("\n").split("\n") if text is not None else [files[path]] if path in files else []


def _diff(name: str, old: list[str], new: list[str]) -> Iterator[str]:
    yield from difflib.unified_diff(old, new, f"{name} (accepted)", f"{name} (now)", lineterm="", n=1)


def _lines(settings: Mapping[str, Any]) -> list[str]:
    """One line for each value, so that only what changed is shown."""
    plain = json.loads(json.dumps(settings, default=str))
    return [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in sorted(_leaf_items("", plain))]


def _leaf_items(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, one in value.items():
            yield from _leaf_items(f"{prefix}.{key}" if prefix else key, one)
    elif prefix:
        yield prefix, value
