"""Promise 17 where text is cut: of a secret at the edge, redaction must not leave the rest."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from testing.lab import APPROVE, Lab

SECRET = "Zq8Wv3Lk5Tn2Xp7" + "Rb9Yc4Hd6Jf1Gs0MaEuQiOw"
# any part of it that is long enough to be of use
PARTS = re.compile("|".join(SECRET[at : at + 12] for at in range(len(SECRET) - 11)))
# wherever such a text is cut, a secret is cut
MANY = f"{SECRET!r} + ','"
ADDS = 'app.write_text(app.read_text() + "x = 1\\n"); print("done")'
EDITS = 'p = pathlib.Path("long.js"); p.write_text(p.read_text().replace("END", "END2")); print("done")'


def leaks(lab: Lab) -> list[str]:
    """Where a part of the secret is: files of the burnish home but the author's own, prompts, screens."""
    files = (p for p in (lab.root / "home").rglob("*") if p.is_file() and "workspaces" not in p.parts)
    texts = {str(path): path.read_bytes().decode("latin-1") for path in files}
    texts |= {f"prompt {c['phase']} {c['cycle']}": c["prompt"] for c in lab.calls()}
    texts |= {word: lab.burnish(*word.split(), code=None).out for word in ("show 1", "log 1", "events --json", "inbox")}
    return sorted(place for place, text in texts.items() if PARTS.search(text))


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_API_TOKEN", SECRET)


@pytest.mark.representatives(1)
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_what_a_failed_agent_printed(tmp_path: Path, stream: str) -> None:
    lab = Lab.make(tmp_path, author=f"sys.{stream}.write(({MANY}) * 500); sys.exit(1)")
    lab.add()
    lab.burnish("run", code=None)
    assert lab.task()["status"] == "failed" and not leaks(lab)


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    "printed", [f"print(({MANY}) * 3000)", f"print('app.py:1:1: E1 ' + ({MANY}) * 300)"], ids=["long", "lint"]
)
def test_what_a_check_printed(tmp_path: Path, printed: str) -> None:
    script = tmp_path / "check.py"
    script.write_text(f"import sys, pathlib\nif 'x = 1' in pathlib.Path('app.py').read_text():\n    {printed}\n")
    with script.open("a") as file:
        file.write("    sys.exit(1)\n")
    checks = f"checks: {{test: null, lint: {{command: '{sys.executable} {script}'}}, on_failure: review}}\n"
    lab = Lab.make(tmp_path, author=ADDS, judge=APPROVE, extra=checks)
    lab.add("Add division", "--max-cycles", "2")
    lab.burnish("run", code=None)
    assert lab.events("checks.finished") or lab.calls()
    assert not leaks(lab)


@pytest.mark.long
@pytest.mark.parametrize("reads_files", ["true", "false"])
def test_a_long_line_of_the_base_and_the_heading_of_a_hunk(tmp_path: Path, reads_files: str) -> None:
    lab = Lab.make(tmp_path, author=EDITS, judge=APPROVE)
    rows = "".join(f"v('{(SECRET + chr(39) + ',' + chr(39)) * (row % 7)}');\n" for row in range(50))
    lab.repo.commit({"long.js": f"{rows}var a = '{(SECRET + chr(39) + ',' + chr(39)) * 2000}END';\n"}, "base")
    lab.commit_settings(lab.settings("").replace("judge.py']", f"judge.py'], reads_files: {reads_files}"))
    lab.add()
    lab.burnish("run", code=None)
    assert [c for c in lab.calls() if c["phase"] == "review"] and not leaks(lab)
