"""A user id that nothing names, as in a container: commands record its number."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from burnish.core.people import Person, Role
from burnish.features.people.people import Administrator
from burnish.web.audit import Request
from burnish.web.roles import Endpoint
from testing.lab import APPROVE, Lab


@pytest.fixture(autouse=True)
def nameless(monkeypatch: pytest.MonkeyPatch) -> str:
    """No variable and no entry of passwd names the user."""

    def unknown(uid: int) -> pwd.struct_passwd:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    return f"user:{os.getuid()}"


def test_trust_a_decision_and_a_merge_are_recorded_with_the_number(tmp_path: Path, nameless: str) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    lab.burnish("untrust")
    lab.burnish("trust")
    lab.add()
    lab.burnish("run", "--hitl-review", code=1)
    lab.burnish("decide", "1", "approve")
    decisions = [event["data"] for event in lab.events("decision.made")]
    assert decisions[-1]["by"] == nameless
    assert lab.burnish("merge", "1").code == 0


def test_the_owner_of_the_server_is_recorded_with_the_number(nameless: str) -> None:
    owner = Person("", Role.MAINTAINER)
    assert Administrator.at_terminal().name == nameless
    assert Administrator.of_request(owner, "web", "").name == nameless
    assert Request(owner, "web", "", Endpoint("GET /")).entry(200).person == nameless
