"""Answers from a phone: the button of a real ntfy message, pressed against a real server."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from burnish.adapters.answer_codes import FOLDER, OpenAnswer, host_of, issue_codes, redeemed_code
from burnish.core.gate import GateChoice
from burnish.errors import Refused
from testing.lab import APPROVE, Lab
from testing.serving import Served, serving

pytest.importorskip("apprise")
# of Apprise's own
pytestmark = pytest.mark.filterwarnings("ignore")

TUNNEL = "https://burnish.example.org"
# approves, with a remark that an author could be sent back for
REMARK = 'print(verdict("approved", "good", [{**flaw, "severity": "info"}]))'


@contextlib.contextmanager
def ntfy() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A stand-in for an ntfy server of the user's own: takes messages as ntfy does, buttons from `X-Actions`."""
    messages: list[dict[str, Any]] = []

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            with contextlib.suppress(ValueError):
                text = json.loads(text)
            actions = self.headers.get("X-Actions") or (text.get("actions") if isinstance(text, dict) else None)
            found = json.loads(actions) if isinstance(actions, str) else actions or []
            messages.append({"text": text, "actions": found})
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"ntfy://127.0.0.1:{server.server_address[1]}/burnish", messages
        finally:
            server.shutdown()


def waiting(root: Path, address: str, more: str = f", answer_url: {TUNNEL}") -> Lab:
    lab = Lab.make(root, judge=REMARK, extra="approval: required\n")
    lab.user_settings(f"notify: {{urls: ['{address}'], desktop: false, bell: false{more}}}\n")
    lab.add()
    lab.burnish("run", "1", code=1)
    assert lab.task()["status"] == "waiting_approval"
    return lab


def press(served: Served, button: dict[str, Any], **headers: str) -> httpx.Response:
    """What the phone does, through a tunnel that keeps the Host header."""
    assert button["action"] == "http" and button["method"] == "POST" and button["url"] == f"{TUNNEL}/answer"
    sent = {**button["headers"], "Host": "burnish.example.org", "X-Forwarded-For": "203.0.113.7", **headers}
    return httpx.post(f"{served.url}/answer", content=button["body"], headers=sent, timeout=20)


@pytest.mark.slow
def test_a_button_decides_once_and_the_record_names_it(tmp_path: Path) -> None:
    with ntfy() as (address, messages):
        lab = waiting(tmp_path, address)
    (message,) = messages
    approve, back = message["actions"]
    assert approve["label"] == f"Approve {lab.task()['commit'][:7]}" and back["label"] == "Send back"

    with serving(lab) as served:
        refused = [
            # a link that is opened, a page of another site, a browser that is logged in, another path at that host
            httpx.get(f"{served.url}/answer", headers={"Host": "burnish.example.org"}).status_code,
            press(served, approve, Origin="https://evil.example").status_code,
            press(served, approve, Cookie="burnish=1").status_code,
            press(served, approve, Host="evil.example").status_code,
            httpx.get(f"{served.url}/", headers={"Host": "burnish.example.org"}).status_code,
        ]
        assert lab.task()["status"] == "waiting_approval"
        first, again, other = press(served, approve), press(served, approve), press(served, back)

    assert refused == [405, 403, 403, 421, 421]
    assert (first.status_code, first.json()["status"]) == (200, "verified")
    # no answer is open any more, so that the server does not even know the host
    assert (again.status_code, other.status_code) == (421, 421)
    decision = lab.events("decision.made")[-1]["data"]
    assert decision["choice"] == "approve" and decision["via"] == "phone, 127.0.0.1" and decision["by"]
    # any program could send that header
    assert "203.0.113.7" not in json.dumps(lab.events())
    assert not list((tmp_path / "home" / "burnish" / FOLDER).iterdir())


@pytest.mark.slow
def test_without_a_finding_there_is_no_button_that_sends_back(tmp_path: Path) -> None:
    with ntfy() as (address, messages):
        lab = Lab.make(tmp_path, judge=APPROVE, extra="approval: required\n")
        lab.user_settings(f"notify: {{urls: ['{address}'], desktop: false, bell: false, answer_url: {TUNNEL}}}\n")
        lab.add()
        lab.burnish("run", "1", code=1)
    (message,) = messages
    assert [button["label"] for button in message["actions"]] == [f"Approve {lab.task()['commit'][:7]}"]


@pytest.mark.slow
def test_a_button_of_an_older_commit_is_refused(tmp_path: Path) -> None:
    with ntfy() as (address, messages):
        lab = waiting(tmp_path, address)
        task = lab.task()
        lab.repo.git("branch", "-f", task["branch"], f"{task['commit']}~1")
        with serving(lab) as served:
            moved = press(served, messages[0]["actions"][0])
        assert moved.status_code == 409 and lab.task()["status"] == "waiting_approval"


@pytest.mark.slow
@pytest.mark.attacks("answers from a phone", 1)
def test_a_button_does_not_accept_files_that_no_reviewer_was_shown(tmp_path: Path) -> None:
    author = "app.with_name('logo.png').write_bytes(bytes(range(256)) * 20)\n"
    with ntfy() as (address, messages):
        lab = Lab.make(tmp_path, author=author, judge=APPROVE)
        lab.user_settings(f"notify: {{urls: ['{address}'], desktop: false, bell: false, answer_url: {TUNNEL}}}\n")
        lab.add()
        lab.burnish("run", "1", code=1)
        assert lab.task()["status"] == "waiting_approval"
        with serving(lab) as served:
            refused = press(served, messages[0]["actions"][0])
    assert refused.status_code == 409 and "no reviewer could be shown" in refused.text
    assert lab.task()["status"] == "waiting_approval"


@pytest.mark.slow
@pytest.mark.attacks("answers from a phone", 40)
def test_of_many_answers_at_the_same_time_one_counts(tmp_path: Path) -> None:
    with ntfy() as (address, messages):
        lab = waiting(tmp_path, address)
        with serving(lab) as served, ThreadPoolExecutor(20) as pool:
            replies = list(pool.map(lambda _: press(served, messages[0]["actions"][0]), range(40)))
    assert [reply.status_code for reply in replies].count(200) == 1
    decisions = [event["data"].get("via", "") for event in lab.events("decision.made")]
    assert [via for via in decisions if via.startswith("phone")] == ["phone, 127.0.0.1"]


@pytest.mark.slow
def test_without_an_address_and_for_the_public_server_there_are_no_buttons(tmp_path: Path) -> None:
    with ntfy() as (address, messages):
        lab = waiting(tmp_path, address, more="")
    assert [message["actions"] for message in messages] == [[]]
    assert not (tmp_path / "home" / "burnish" / FOLDER).exists()
    import apprise

    from burnish.notify.notifier import MessageButton, _with_buttons

    button = MessageButton("Approve", TUNNEL, "{}")
    for public in ("ntfy://my-topic", "ntfys://ntfy.sh/my-topic", "json://127.0.0.1"):
        assert _with_buttons(apprise, public, [button]) == public
    assert lab.task()["status"] == "waiting_approval"


def test_a_code_is_stored_as_a_hash_and_expires(tmp_path: Path) -> None:
    fresh = OpenAnswer("p", 1, 1, "abc", "h", time.time() + 60)
    codes = issue_codes(tmp_path, fresh, (GateChoice.APPROVE, GateChoice.FIX))
    text = "".join(path.read_text() for path in (tmp_path / FOLDER).iterdir())
    assert not any(code.partition(".")[2] in text for code in codes.values())
    for wrong in ("", "x", codes[GateChoice.APPROVE][:-1], f"../../x.{'a' * 43}", f"{'0' * 16}.{'a' * 43}"):
        with pytest.raises(Refused), redeemed_code(tmp_path, wrong):
            pass

    # a decision that is refused leaves the answer open; the first one that counts ends it
    with pytest.raises(Refused), redeemed_code(tmp_path, codes[GateChoice.FIX]):
        raise Refused("It is running.", hint="")
    with redeemed_code(tmp_path, codes[GateChoice.FIX]) as (_, choice):
        assert choice is GateChoice.FIX
    for code in codes.values():
        with pytest.raises(Refused), redeemed_code(tmp_path, code):
            pass

    old = issue_codes(tmp_path, OpenAnswer("p", 1, 1, "abc", "h", time.time() - 1), (GateChoice.APPROVE,))
    with pytest.raises(Refused), redeemed_code(tmp_path, old[GateChoice.APPROVE]):
        pass


@pytest.mark.parametrize(
    ("url", "host"),
    [(TUNNEL, "burnish.example.org"), ("https://a.b:8443", "a.b:8443"), ("https://A.b:443", "a.b")],
)
def test_the_host_of_an_address_is_that_of_its_requests(url: str, host: str) -> None:
    assert host_of(url) == host


@pytest.mark.parametrize("url", ["http://burnish.example.org", "burnish.example.org", "https://a.b/path", "https://"])
def test_an_address_that_others_could_read_is_refused(tmp_path: Path, url: str) -> None:
    lab = Lab.make(tmp_path)
    lab.user_settings(f"notify: {{answer_url: '{url}'}}\n")

    assert "answer_url" in lab.burnish("config", "show", code=2).err
