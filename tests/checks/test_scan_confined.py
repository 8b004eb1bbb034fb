"""The static reviewer's analysers are confined as checks are: they read, and write in a folder of their own alone."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from burnish.adapters.sandbox import SandboxPolicy
from burnish.adapters.static_reviewer import static_review
from burnish.core.change import Change
from burnish.core.policy import CheckSpec
from burnish.core.review import Review
from burnish.errors import PhaseFailed
from burnish.proc.environment import listed_environment
from burnish.proc.sandbox import Sandbox
from testing.bubblewrap import needs_bubblewrap
from testing.defects import changed_file

# Stands for shellcheck: says where it could write, and what it sees of the home.
NOSY = """
import json, os, sys
out = {"home": os.listdir(HOME)}
for place in PLACES:
    try:
        open(place, "w").close()
        out[place] = "written"
    except OSError as error:
        out[place] = error.strerror
said = {"file": sys.argv[-1], "line": 1, "endLine": 1, "code": 2086, "level": "warning", "message": json.dumps(out)}
print(json.dumps({"comments": [said]}))
"""
TEST = """
from pathlib import Path
from app import half
def test_it():
    assert half(4) == 2
    assert not list(Path(HOME).iterdir())
    (Path(__file__).parent / "left").write_text("")  # a test may write where it stands: in the copy
"""


def review(root: Path, confinement: SandboxPolicy, files: dict[str, str], test: CheckSpec | None = None) -> Review:
    for path, text in files.items():
        (root / "burnish" / "files" / path).write_text(text)
    here = root / "burnish" / "files"
    changed = [path for path in files if not path.startswith("test_")]
    return static_review(
        Change("0", "1", tuple(changed_file(path, None, files[path]) for path in changed)),
        files=here,
        out_dir=root / "burnish" / "out",
        checkout=root / "checkout",
        base_text=lambda path: None,
        new_text=lambda path: (here / path).read_bytes(),
        env={**listed_environment(os.environ), "PATH": f"{root / 'tools'}{os.pathsep}{os.environ['PATH']}"},
        test=test,
        coverage=test is not None,
        confinement=confinement,
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("home", "checkout", "tools", "burnish/files"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    (tmp_path / "home" / "private").write_text("mine")
    return tmp_path.resolve()


def shut(root: Path) -> SandboxPolicy:
    needs_bubblewrap()
    return SandboxPolicy(Sandbox(root / "home", root / "checkout", root / "burnish"))


def test_an_analyser_reads_the_files_and_writes_nothing(root: Path) -> None:
    places = [root / "checkout" / "x", root / "burnish" / "files" / "x", root / "burnish" / "out" / "x"]
    text = NOSY.replace("HOME", repr(str(root / "home"))).replace("PLACES", repr(list(map(str, places))))
    (root / "tools" / "shellcheck").write_text(f"#!{sys.executable} -IS\n{text}")
    (root / "tools" / "shellcheck").chmod(0o755)
    (remark,) = review(root, shut(root), {"run.sh": "echo $1\n"}).remarks
    seen = json.loads(remark.description)
    assert seen.pop("home") == []
    assert list(seen.values()) == ["Read-only file system"] * 3
    assert (root / "home" / "private").exists()


@pytest.mark.long
def test_ruff_and_coverage_work_in_there(root: Path) -> None:
    app = "def half(n):\n    if n % 2:\n        raise ValueError(m)\n    return n // 2\n"
    test = TEST.replace("HOME", repr(str(root / "home")))
    pytest_ = CheckSpec("test", (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"))
    found = review(root, shut(root), {"app.py": app, "test_app.py": test}, pytest_)
    assert {(r.rule, r.line) for r in found.remarks} == {("F821", 3), ("not-tested", 3)}, found.notes
    assert not (root / "burnish" / "files" / "left").exists()


# Tests of the change under coverage: they replace what burnish writes and reads for the calls after them.
REPLACING = """
import os
from pathlib import Path
from app import half
def test_it():
    assert half(4) == 2
    place = Path(__file__).parent.parent
    for folder in (place, place.parent):
        for name in ("combine", "report", "coverage-combine", "coverage-report"):
            try:
                (folder / name).symlink_to(VICTIM)
            except OSError:
                pass
        for name in ("run/stdout", "coverage-run/stdout"):
            try:
                os.unlink(folder / name)
                (folder / name).symlink_to(VICTIM + "/stdout")
            except OSError:
                pass
    ENDING
"""


@pytest.mark.slow
@pytest.mark.attacks("write outside through the output of an analyser", 1)
def test_tests_under_coverage_cannot_have_output_written_to_or_read_from_a_folder_outside(root: Path) -> None:
    victim = root / "victim"
    victim.mkdir()
    (victim / "stdout").write_text("CANARY\n")
    pytest_ = CheckSpec("test", (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"))
    for ending in ("pass", "os._exit(9)"):
        test = REPLACING.replace("VICTIM", repr(str(victim))).replace("ENDING", ending)
        app = "def half(n):\n    return n // 2\n"
        found = review(root, shut(root), {"app.py": app, "test_app.py": test}, pytest_)
        assert {path.name: path.read_text() for path in victim.iterdir()} == {"stdout": "CANARY\n"}
        assert "CANARY" not in str(found)


def test_where_a_sandbox_is_required_and_missing_nothing_is_started(root: Path) -> None:
    with pytest.raises(PhaseFailed, match="cannot be confined here: nobody made one"):
        review(root, SandboxPolicy(None, "nobody made one", required=True), {"app.py": "x = 1\n"})
