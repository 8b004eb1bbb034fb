"""One thing that was looked at: how it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from burnish.core.secrets import Secrets

OK, WEAK, MISSING = "ok", "weak", "missing"


@dataclass(frozen=True, slots=True)
class Sign:
    """`missing` stands in the way of the loop; `weak` does not."""

    group: str
    name: str
    state: str
    what: str
    remedy: str = ""


def clean_signs(secrets: Secrets, signs: Iterable[Sign]) -> list[Sign]:
    """People paste these into chats; settings and branches may hold what they should not."""
    return [replace(one, what=secrets.redact(one.what), remedy=secrets.redact(one.remedy)) for one in signs]


@dataclass(frozen=True, slots=True)
class Group:
    """Signs of one kind, written short."""

    name: str

    def ok(self, name: str, what: str) -> Sign:
        return Sign(self.name, name, OK, what)

    def weak(self, name: str, what: str, remedy: str) -> Sign:
        return Sign(self.name, name, WEAK, what, remedy)

    def missing(self, name: str, what: str, remedy: str) -> Sign:
        return Sign(self.name, name, MISSING, what, remedy)
