"""One thing that was looked at: how it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from burnish.core.secrets import Secrets

OK, WEAK, MISSING = "ok", "weak", "missing"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """`missing` prevents runs; `weak` does not."""

    group: str
    name: str
    state: str
    what: str
    remedy: str = ""
    # for programs: what the sentence sums up, by name
    details: Mapping[str, str] = field(default_factory=dict)


def clean_signs(secrets: Secrets, signs: Iterable[Diagnostic]) -> list[Diagnostic]:
    """People paste these into chats; settings and branches may hold what they should not."""
    redact = secrets.redact
    return [
        replace(
            one,
            what=redact(one.what),
            remedy=redact(one.remedy),
            details={name: redact(value) for name, value in one.details.items()},
        )
        for one in signs
    ]


@dataclass(frozen=True, slots=True)
class DiagnosticGroup:
    """Signs of one kind, written short."""

    name: str

    def ok(self, name: str, what: str, details: Mapping[str, str] | None = None) -> Diagnostic:
        return Diagnostic(self.name, name, OK, what, details=details or {})

    def weak(self, name: str, what: str, remedy: str, details: Mapping[str, str] | None = None) -> Diagnostic:
        return Diagnostic(self.name, name, WEAK, what, remedy, details or {})

    def missing(self, name: str, what: str, remedy: str) -> Diagnostic:
        return Diagnostic(self.name, name, MISSING, what, remedy)
