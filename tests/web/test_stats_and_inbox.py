"""Statistics and the inbox as pages and over HTTP."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from burnish.core.status import Reason, Status
from burnish.core.task import Spec, Task
from burnish.features.hooks.news import commits_folder
from burnish.views.inbox import ANSWERS, InboxEntry, inbox
from burnish.web.pages.inbox import answer_of
from testing.at_hand import AtHand, at_hand
from testing.lab import Lab
from testing.tales import Teller, lay_branches

HOSTILE = "<script>window.hurt=1</script>"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A project with a past, a hostile reviewer and a hostile title."""
    lab = Lab.make(tmp_path_factory.mktemp("told") / "lab")
    teller = Teller.at(Path(lab.env["BURNISH_HOME"]), lab.repo.path)
    teller.store._db._connection().execute("PRAGMA synchronous = OFF")
    teller.years(14, titles=[HOSTILE])
    tale = teller.add(HOSTILE)
    tale.begin(HOSTILE)
    tale.phase("implement", 9, agent=HOSTILE, model=HOSTILE, cost_usd=9.0, commit="1" * 40)
    tale.review("changes_requested", [{"agent": HOSTILE, "model": None, "verdict": "changes_requested"}])
    tale.finding(HOSTILE)
    tale.decide("escalate")
    tale.to("blocked", reason="needs_discussion", note=HOSTILE)
    teller.store.close()
    lay_branches(lab.repo, 15)
    return lab


@pytest.fixture
def past(told: Lab, hermetic: object) -> Iterator[AtHand]:
    with at_hand(told) as opened:
        yield opened


def page(server: AtHand, path: str) -> str:
    _, headers = server.browser()
    answer = server.client.get(path, headers={**headers, "Accept": "text/html"})
    assert answer.status_code == 200, answer.text
    assert " style=" not in answer.text and HOSTILE not in answer.text
    return str(answer.text)


def test_the_page_counts_what_the_api_counts(past: AtHand) -> None:
    told: dict[str, Any] = past.of_project("GET", "/stats").json()
    shown = page(past, f"/p/{past.project}/stats")
    assert f"{told['runs']['approved']} approved, {told['runs']['stopped']} stopped" in shown
    assert f"${told['total']['cost_usd']:,.2f}" in shown
    assert shown.count("<svg") == shown.count("<table>") - 1 == 8
    assert past.api("GET", "/stats").json() == told
    cost = past.of_project("GET", "/cost").json()
    assert cost["total"] == told["total"] and {line["agent"] for line in cost["by_agent"]} >= {"claude", HOSTILE}


def test_a_window_and_all_projects_can_be_asked_for(past: AtHand) -> None:
    shown = page(past, f"/p/{past.project}/stats/part?days=7")
    assert "No data" in shown and "Show all time" in shown
    assert past.of_project("GET", "/stats?days=7").json()["total"]["calls"] == 0
    assert past.of_project("GET", "/stats?days=0").status_code == 422
    assert "How runs ended" in page(past, f"/p/{past.project}/stats?everything=true")


def test_before_anything_ran_the_pages_say_what_will_be_there(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab")
    lab.add()
    with at_hand(lab) as fresh:
        assert "No data yet" in html.unescape(page(fresh, f"/p/{fresh.project}/stats"))
        assert "Nothing needs you" in page(fresh, "/inbox")


def test_the_inbox_lists_what_the_command_line_lists_with_an_answer_for_each(past: AtHand) -> None:
    entries = past.api("GET", "/inbox").json()["inbox"]
    shown = page(past, "/inbox")
    ids = re.findall(r'id="entry-[^"]*-(\d+)"', shown)
    assert ids == [entry["id"] for entry in entries] and len(ids) > 5
    kinds = [entry["kind"] for entry in entries]
    assert kinds == sorted(kinds, key=lambda kind: kind == "ready")
    assert all(f'id="do-{past.project}-{number}"' in shown for number in ids)
    assert "Merge all verified" in shown
    _, headers = past.browser()
    counted = past.client.get("/inbox/count", headers=headers).json()
    # the board has no count of its own
    assert f">{counted['waiting']} need you<" in page(past, f"/p/{past.project}")
    latest = counted.pop("latest")
    assert counted.pop("order") == [f"{past.project}-{number}" for number in ids]
    assert counted == {"waiting": kinds.count("blocked"), "ready": kinds.count("ready")}
    assert latest["link"] in shown and latest["title"].startswith("T")
    assert page(past, "/inbox/part?of=nothing").count("entry-") == 0


def test_a_merge_names_the_commit_that_was_shown(past: AtHand) -> None:
    shown = page(past, "/inbox")
    bodies = [json.loads(html.unescape(text)) for text in re.findall(r'/merge"\s+data-body="([^"]*)"', shown)]
    assert bodies and all(re.fullmatch("[1-3]{40}", body["commit"]) for body in bodies)


@pytest.mark.representatives(4)
@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_an_answer_that_does_what_the_command_does(reason: Reason) -> None:
    task = Task("p", 1, Spec("x"), Status.BLOCKED, reason=reason)
    answer = answer_of(InboxEntry(task, "blocked", "", "", ANSWERS[reason]))
    verb = ANSWERS[reason].split()[1]
    assert answer.path == f"/{verb}" or (verb, answer.part) == ("waive", "findings")
    assert bool(answer.note) == ("-m" in ANSWERS[reason])
    assert not answer.path or "--review" not in ANSWERS[reason] or answer.body == {"review": True}


def test_what_waits_is_counted_once_for_all_pages_and_again_after_an_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the thread that reads the version of the store every 20 ms counts in the same number
    monkeypatch.setattr("burnish.web.socket.PAUSE", 1e6)
    lab = Lab.make(tmp_path / "lab")
    teller = Teller.at(Path(lab.env["BURNISH_HOME"]), lab.repo.path)
    teller.years(8)
    with at_hand(lab) as server:
        _, headers = server.browser()

        def asked() -> tuple[dict[str, int], int]:
            before = server.registry.store.statements
            told = server.client.get("/inbox/count", headers=headers).json()
            return told, server.registry.store.statements - before

        (first, many), (second, few) = asked(), asked()
        assert first == second and many > 4 >= few
        tale = teller.add()
        tale.begin()
        tale.to("failed", error="AGENT_FAILED")
        assert asked()[0]["waiting"] == first["waiting"] + 1
    teller.store.close()


def test_a_commit_whose_review_did_not_pass_is_in_the_inbox(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab")
    lab.add()
    folder = commits_folder(Path(lab.env["BURNISH_HOME"]), lab.repo.path / ".git")
    folder.mkdir(parents=True)
    said = {"commit": "ab12" * 10, "asked": 1.0, "state": "done", "verdict": "changes_requested", "passed": False}
    said |= {"summary": HOSTILE, "error": "", "finished": 2.0}
    (folder / "ab12.json").write_text(json.dumps(said))
    with at_hand(lab) as server:
        shown = page(server, "/inbox")
    assert "ab12ab12ab" in shown and "hook last" in shown and html.escape(HOSTILE) in shown
    assert HOSTILE not in shown and "Nothing needs you" not in shown


def test_several_projects_are_shown_together_and_one_at_a_time(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab")
    home = Path(lab.env["BURNISH_HOME"])
    tellers = [Teller.at(home, lab.repo.path), Teller.at(home, tmp_path / "it's another")]
    for teller in tellers:
        teller.years(2)
        teller.store.close()
    one, two = (teller.project for teller in tellers)
    with at_hand(lab) as server:
        together = page(server, "/inbox")
        assert all(f'id="entry-{key}-1"' in together for key in (one, two)) and "All projects" in together
        # a page of no project leads to the projects
        assert '<a href="/projects">Projects</a>' in together and "Projects</a>" not in page(server, f"/p/{one}")
        alone = page(server, f"/inbox?of={two}")
        assert f"entry-{two}-" in alone and f"entry-{one}-" not in alone
        # what is to be copied works from anywhere, whatever the folder is called
        assert "burnish -C '" in html.unescape(alone) and "it'\"'\"'s another'" in html.unescape(alone)
        assert "this project" in page(server, f"/p/{one}/stats") and "2 approved" not in page(
            server, f"/p/{one}/stats?days=1"
        )
        calls = [server.api("GET", path).json()["total"]["calls"] for path in (f"/projects/{one}/stats", "/stats")]
        assert calls[1] == 2 * calls[0]


def test_a_task_that_its_agent_left_unchanged_is_described_again_before_it_is_retried(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab", author='print("Nothing to do.")')
    lab.add()
    lab.burnish("run", "1", code=None)
    with at_hand(lab) as server:
        form = f'href="/p/{server.project}#edit-1"'
        answer = page(server, "/inbox").partition('class="actions"')[2].partition("</div>")[0]
        assert form in answer and "Edit the description" in answer and "Retry" not in answer
        shown = page(server, f"/p/{server.project}/t/1")
        assert re.search(rf'<a class="button primary"[^>]* {form}>', shown)
        assert not re.search(r'<button[^>]*class="[^"]*primary[^"]*"[^>]*data-path="/retry"', shown)
        assert "not reviewed" in shown and "review failed" not in shown


def test_next_goes_on_below_a_task_that_was_decided_or_commented(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab")
    teller = Teller.at(Path(lab.env["BURNISH_HOME"]), lab.repo.path)
    tales = []
    for _ in range(4):
        tales.append(teller.add())
        tales[-1].begin()
        tales[-1].to("code_review")
        tales[-1].to("waiting_approval", note="the review approved it; a person decides next")
    # an event that does not end the wait: the task keeps its place
    teller.clock.passes(60)
    tales[1].finding("judge")
    store, key = teller.store, tales[0].project
    assert [entry.task.id for entry in inbox(store, [key], today="2026-04-01")] == [1, 2, 3, 4]
    tales[2].to("verified")
    store.close()
    with at_hand(lab) as server:
        _, headers = server.browser()
        after, below = f"{server.project}-3", f"{server.project}-4"
        (first,) = server.client.get(f"/inbox/next?peek=true&after={after}", headers=headers).json()
        path = f"/inbox/next?peek=true&after={after}&then={below}"
        (one,) = server.client.get(path, headers=headers).json()
        last = f"/inbox/next?peek=true&after={below}&then={server.project}-9"
        (around,) = server.client.get(last, headers=headers).json()
    assert (first["id"], one["id"], around["id"]) == (1, 4, 1)


def test_a_question_is_to_be_answered_and_next_names_what_it_leads_to(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab")
    teller = Teller.at(Path(lab.env["BURNISH_HOME"]), lab.repo.path)
    for note in ("Do old entries stay valid?", "the review approved it; a person decides next"):
        tale = teller.add()
        tale.begin()
        tale.to("code_review")
        tale.to("waiting_approval", note=note)
    teller.store.close()
    with at_hand(lab) as server:
        _, headers = server.browser()
        shown = server.client.get("/inbox", headers=headers).text
        order = [shown.index(f"entry-{server.project}-{number}") for number in (2, 1)]
        assert order == sorted(order), "decisions come before questions"
        assert "Answer…" in shown and "question" in shown and "approve, reject or fix" not in shown
        for after, number in (("", 2), (f"{server.project}-2", 1)):
            (one,) = server.client.get(f"/inbox/next?peek=true&after={after}", headers=headers).json()
            link = server.client.get(f"/inbox/next?after={after}", headers=headers, follow_redirects=False)
            assert (one["id"], one["link"]) == (number, link.headers["location"])
