"""One thing that was looked at: how it is, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass

OK, WEAK, MISSING = "ok", "weak", "missing"


@dataclass(frozen=True, slots=True)
class Sign:
    """`missing` stands in the way of the loop; `weak` does not."""

    group: str
    name: str
    state: str
    what: str
    remedy: str = ""


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
