"""The page of a task and its parts, without a port: what stands where, what is refused, what is escaped."""

from __future__ import annotations

import re
from typing import Any

import pytest

from burnish.core.status import Reason, Status
from burnish.core.task import Spec, Task
from burnish.views.task_page.page import what_next
from burnish.web.pages import diff
from burnish.web.pages.markdown import MAX_ARTIFACT_LENGTH
from burnish.web.pages.task import read
from testing.at_hand import TOKEN, AtHand


class Page:
    def __init__(self, server: AtHand, task: int) -> None:
        self.server, self.task = server, task

    def get(self, rest: str = "", code: int = 200) -> Any:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        answer = self.server.client.get(f"/p/{self.server.project}/t/{self.task}{rest}", headers=headers)
        assert answer.status_code == code, answer.text
        return answer

    def part(self, *names: str) -> str:
        return str(self.get(f"/parts?names={','.join(names)}").text)


def buttons(html: str) -> list[str]:
    return re.findall(r'data-act="(\w+)"', html)


@pytest.mark.slow
def test_a_task_that_waits_shows_what_a_decision_is_about(server: AtHand) -> None:
    page = Page(server, 1)
    html = page.get().text
    task = server.registry.store.task(server.project, 1)
    assert "It waits for your decision." in html and f'data-commit="{task.commit}"' in html
    assert [choice in html for choice in ('value="approve"', 'value="request_changes"', 'value="reject"')] == [True] * 3
    # the review is required here: there is nothing to skip
    assert 'value="skip"' not in html
    assert f'data-since="{server.registry.store.last_event(server.project)}"' in html
    assert " style=" not in html and "<script>" not in html


def test_a_blocked_task_says_why_and_offers_a_way_on(server: AtHand) -> None:
    html = Page(server, 2).part("head", "findings", "story")
    assert "used up its cycles" in html
    assert {"retry", "review", "override", "cancel", "done"} <= set(buttons(html)) and 'data-answer="note"' in html
    assert 'id="F1"' in html and 'data-rule="waive"' in html and "Zero is not handled" in html
    assert "changes requested" in html and "Cycle 1" in html and "Stopped for a person" in html


def test_a_task_that_was_not_begun_says_what_will_be_where(server: AtHand) -> None:
    page = Page(server, 3)
    html = page.get().text + page.part("changes", "log", "artifacts")
    assert "It is ready to be started." in html
    for words in (
        "The task has not run yet",
        "No changes yet",
        "No output yet",
        "No agent calls yet",
        "No findings",
    ):
        assert words in html, words


def test_the_change_comes_with_its_findings_under_their_lines(server: AtHand) -> None:
    html = Page(server, 2).part("changes")
    assert '<span class="k">def' in html
    row, _, rest = html.partition('data-line="4"')
    assert row and rest.index('id="in-F1"') < rest.index("</table>")
    assert "1 file changed" in html


def test_what_is_far_down_is_left_for_later(server: AtHand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff, "AT_ONCE", 0)
    html = Page(server, 2).part("changes")
    assert "data-wanted" in html and "app.py" in html and "div_2" not in html
    monkeypatch.setattr(diff, "MAX_FILES", 0)
    assert "1 more file changed and is not shown" in Page(server, 2).part("changes")


def test_lines_of_a_file_are_given_only_for_the_tree_that_the_page_shows(server: AtHand) -> None:
    page = Page(server, 2)
    tree = re.search(r'data-tree="([0-9a-f]+)"', page.part("changes"))
    assert tree
    assert "div_2" in page.get(f"/file/0?tree={tree[1]}").text
    assert page.get(f"/file/0/lines?tree={tree[1]}&old=1&new=1&count=2").text.count("<tr") == 2
    assert "has moved" in page.get(f"/file/0?tree={'0' * 40}", 409).json()["title"]
    page.get(f"/file/7?tree={tree[1]}", 404)
    page.get("/file/0?tree=../../etc", 422)


def test_what_was_printed_and_asked_can_be_read(server: AtHand) -> None:
    page = Page(server, 2)
    names = re.findall(r'<option value="([^"]+)"', page.part("log"))
    said = [page.get(f"/output/{name}?offset=-1").json()["text"] for name in names]
    assert any("done: implement" in text for text in said)
    prompt = re.search(r'data-output="([^"]+)"', page.part("artifacts"))
    assert prompt and "Add a root" in page.get(f"/output/{prompt[1]}").json()["text"]
    raw = page.get(f"/output/{names[0]}/raw")
    assert raw.headers["content-type"].startswith("text/plain") and "attachment" in raw.headers["content-disposition"]


def test_a_review_is_read_as_markdown_and_kept_as_it_is(server: AtHand) -> None:
    page = Page(server, 2)
    assert "review-cycle-1.md" in page.part("artifacts", "story")
    html = page.get("/artifact/review-cycle-1.md").text
    assert "<h1>Code Review" in html and "Front matter" in html
    assert page.get("/artifact/review-cycle-1.md/raw").text.startswith("---\n")


def test_parts_files_and_names_that_there_are_not_are_not_found(server: AtHand) -> None:
    page = Page(server, 2)
    page.get("/parts?names=head,secrets", 404)
    page.get("/artifact/..%2Ftask.json", 404)
    page.get("/output/nothing", 404)
    Page(server, 99).get("", 404)


def test_settings_that_cannot_be_read_leave_the_rest_of_the_page(server: AtHand) -> None:
    server.lab.repo.write({"burnish.yaml": "review: [nonsense\n"})
    try:
        html = Page(server, 1).get().text
        assert "Your decision" in html and "burnish.yaml" in html and "Cycle 2" in html
    finally:
        server.lab.repo.git("checkout", "--", "burnish.yaml")


# Markdown


def test_markdown_makes_no_html_of_its_own_and_fetches_nothing() -> None:
    text = "<script>x</script>\n\n![a](http://evil/p.png) [b](javascript:x) [c](https://ok)\n\n<img src=x onerror=y>\n"
    html = str(read("review-cycle-1.md", text).html)
    assert "<script" not in html and "<img" not in html and 'href="javascript' not in html
    assert "http://evil/p.png" in html and 'rel="noreferrer noopener nofollow"' in html


def test_front_matter_is_shown_apart_and_a_monster_as_it_is() -> None:
    one = read("review-cycle-1.md", "---\ntask: 1\n---\n# Title\n")
    assert one.front == "task: 1" and "Title</h1>" in one.html
    assert not read("review-cycle-1.md", "# x\n" * MAX_ARTIFACT_LENGTH).html
    for dense in ("![", "*_", "["):
        assert not read("agent-output-1.md", dense * (MAX_ARTIFACT_LENGTH // 2)).html, "it would take seconds"
    assert not read("task.json", "{}").html


# the head


def task(**more: Any) -> Task:
    return Task("p", 1, Spec("Title"), base="b", commit="c", target="main", **more)


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_to_stop_has_a_sentence_of_its_own(reason: Reason) -> None:
    said = what_next(task(status=Status.BLOCKED, reason=reason))
    assert said.endswith(".") and said != what_next(task(status=Status.BLOCKED))


@pytest.mark.parametrize("status", list(Status))
@pytest.mark.parametrize("standing", ["", "here", "elsewhere", "interrupted"])
def test_every_status_says_what_happens_next(status: Status, standing: str) -> None:
    assert what_next(task(status=status, phase="review"), standing).endswith(".")


def test_what_is_waited_for_is_named() -> None:
    assert "T3, T5" in what_next(task(), unmet=[3, 5])
