"""Promise 19 over HTTP: from inside a phase an agent finds the port, tries all it can find, and decides nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from testing.lab import APPROVE, Lab
from testing.serving import serving

# Looks through its environment, the home and the processes for anything that opens the door, and tries it everywhere.
THIEF = """
import glob, http.client, subprocess
home = pathlib.Path(HOME)
told = json.loads((home / "serve" / "lock").read_text())
port = int(told["url"].rpartition(":")[2])
words = set(os.environ.values())
for file in [*home.glob("serve/*"), *home.glob("*.json"), *home.glob("*.yaml")]:
    if file.is_file():
        text = file.read_text(errors="replace")
        words |= set(re.findall(r"[A-Za-z0-9_=-]{16,}", text)) | {text}
for file in glob.glob("/proc/[0-9]*/cmdline"):
    try:
        words |= set(open(file, errors="replace").read().split(chr(0)))
    except OSError:
        pass
words = {word for word in words if re.fullmatch(r"[!-~]{12,100}", word) and "/" not in word}
commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
own = f"http://127.0.0.1:{port}"
def ask(method, path, headers, body=None):
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    line.request(method, path, body and json.dumps(body), {"Content-Type": "application/json", **headers})
    got = line.getresponse().status
    line.close()
    return got
tried = {}
why = {"explain": "x"}
orders = [
    ("decide", {"choice": "approve", "commit": commit}), ("override", {"commit": commit, "grounds": why}),
    ("done", {"grounds": why}), ("merge", {"commit": commit}), ("cancel", None), ("retry", None), ("pr", None),
    ("improve", {"note": "x"}), ("rebase", None), ("findings/F1/waive", {"reason": "x"}), ("findings/F1/reopen", None),
    ("findings/F1/resolve", None), ("findings/F1/reply", {"text": "x"}),
    ("apply", {"findings": ["F1"], "commit": commit}),
    ("draft/send", {"verdict": "approve", "commit": commit}),
    ("review-from", {"text": "approved", "verdict": "approved"}), ("review", None), ("run", None),
    ("comments", {"text": "x"}), ("pause", None), ("unpause", None),
]
keys = [{}, *({"Authorization": f"Bearer {word}"} for word in words)]
keys += [{"Cookie": f"burnish_{port}={word}", "Origin": own, "X-Burnish-Key": word} for word in words]
for headers in keys:
    got = ask("POST", f"/api/v1/projects/{PROJECT}/tasks/1/decide", headers, orders[0][1])
    tried["decide"] = tried.get("decide", []) + [got]
for name, body in orders:
    for headers in keys[:3] + keys[-2:]:
        got = ask("POST", f"/api/v1/projects/{PROJECT}/tasks/1/{name}", headers, body)
        tried[name] = tried.get(name, []) + [got]
for method, path in (("PATCH", "tasks/1"), ("DELETE", "tasks/1"), ("PUT", "prompts/review.system"), ("POST", "run"),
                     ("POST", "merge-verified"), ("POST", "clean"), ("POST", "rebuild")):
    where = f"/api/v1/projects/{PROJECT}/{path}"
    tried[f"{method} {path}"] = [ask(method, where, headers, {}) for headers in keys[:3] + keys[-2:]]
plain = [word for word in sorted(words) if re.fullmatch("[A-Za-z0-9_=-]+", word)]
tried["login"] = [ask("GET", f"/login?token={word}", {}) for word in plain]
pathlib.Path(LOG).with_name(f"tried-{task}.json").write_text(json.dumps(tried))
"""
AUTHOR = 'app.write_text(app.read_text() + "# more\\n")\n'


@pytest.mark.slow
def test_what_an_agent_finds_opens_no_door(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab", judge=APPROVE, extra="approval: required\n")
    lab.add("Wait for a person")
    lab.agent("robot", AUTHOR)
    lab.burnish("run", "1", code=1)
    lab.add("Decide on the other one")
    before = lab.task(1)
    with serving(lab) as served:
        # a browser is logged in, so that there is a session to be found
        with served.client() as client:
            assert client.get(served.login).status_code == 200
        where = f"HOME = {lab.env['BURNISH_HOME']!r}\nPROJECT = {served.project!r}\n"
        lab.agent("robot", where + AUTHOR + THIEF)
        assert served.of_project("POST", "/tasks/2/run").status_code == 202
        lab.until((lab.root / "tried-2.json").exists, 90)
        tried = json.loads((lab.root / "tried-2.json").read_text())
        # it may have come to its end by itself meanwhile
        assert served.of_project("POST", "/tasks/2/cancel").status_code in (200, 409)
    assert len(tried) == 29 and len(tried["decide"]) > 5
    assert {code for codes in tried.values() for code in codes} <= {401, 403}, tried
    after = lab.task(1)
    assert after == before
    assert not [event for event in lab.events("decision.made", task=1) if event["data"].get("via") in ("web", "api")]
