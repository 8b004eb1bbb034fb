"""People of a server and the audit trail, in both databases."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from burnish.adapters.stores import open_store
from burnish.core.people import AuditEntry, Role
from burnish.store import Store
from burnish.store import people as module


def entry(person: str, status: int = 200, project: str = "") -> AuditEntry:
    return AuditEntry("", person, "viewer", "web", "10.0.0.1", project, 1 if project else None, "POST /x", status)


def test_a_token_is_known_after_a_restart_and_not_stored(home: Path, store: Store, database: str | None) -> None:
    token = store.people.add("ada", Role.REVIEWER, "user:root")
    assert token
    assert store.people.add("ada", Role.VIEWER, "user:root") is None

    with open_store(home) as again:
        identity = again.people.of_token(token)
        assert identity and identity.person.name == "ada" and identity.person.role is Role.REVIEWER
        assert again.people.of_token(token + "x") is None
        assert [(one.name, one.role) for one in again.people.everyone()] == [("ada", Role.REVIEWER)]
    if database is None:
        assert not any(token.encode() in file.read_bytes() for file in home.rglob("*") if file.is_file())


def test_revoking_ends_the_token_and_its_links(store: Store) -> None:
    token = store.people.add("ada", Role.VIEWER, "x") or ""
    code = store.people.new_link("ada", 1) or ""
    assert store.people.look_at_link(code)

    assert store.people.revoke("ada")
    assert not store.people.revoke("ada")
    assert store.people.of_token(token) is None
    assert store.people.take_link(code) is None
    # a new person of the same name is another one
    assert store.people.add("ada", Role.VIEWER, "x") != token
    assert store.people.of_token(token) is None


def test_a_link_works_once_and_until_its_end(store: Store) -> None:
    store.people.add("ada", Role.VIEWER, "x")
    code, expired = store.people.new_link("ada", 1) or "", store.people.new_link("ada", -1) or ""

    assert store.people.take_link(expired) is None
    identity = store.people.take_link(code)
    assert identity and identity.person.name == "ada"
    assert store.people.take_link(code) is None
    assert store.people.new_link("eve", 1) is None


def test_the_audit_trail_is_filtered_by_person_and_project(store: Store) -> None:
    for person, project in (("ada", "p1"), ("bob", "p1"), ("ada", "p2")):
        store.people.record(entry(person, project=project))

    assert [one.project for one in store.people.entries(person="ada")] == ["p2", "p1"]
    assert [one.person for one in store.people.entries(project="p1")] == ["bob", "ada"]
    assert [one.task for one in store.people.entries(person="ada", project="p2")] == [1]
    assert store.people.names_in_audit() == ["ada", "bob"]


def test_refused_attempts_do_not_displace_what_was_done(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_REFUSED", 10)
    monkeypatch.setattr(module, "_TRIM_EVERY", 1)
    store.people.record(entry("ada"))
    for _ in range(40):
        store.people.record(entry("", 401))

    found = store.people.entries(most=1000)
    assert [one.person for one in found if not one.is_refused] == ["ada"]
    assert sum(one.is_refused for one in found) == 10


@pytest.mark.attacks("audit trail flooded by a person", 120)
def test_a_person_who_repeats_a_request_displaces_neither_others_nor_the_own_decisions(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_DONE", 20)
    monkeypatch.setattr(module, "_TRIM_EVERY", 1)
    comment, decide = "POST /api/v1/projects/{project}/comments", "POST /api/v1/projects/{project}/decide"
    store.people.record(replace(entry("ada"), action=decide))
    store.people.record(replace(entry("eve"), action=decide))
    for _ in range(120):
        store.people.record(replace(entry("eve"), action=comment))

    found = store.people.entries(most=1000)
    assert [(one.person, one.action) for one in found[-2:]] == [("eve", decide), ("ada", decide)]
    assert len(found) == 22
