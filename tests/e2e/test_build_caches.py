"""Build folders that compilers trust by time stamp never make a broken change pass."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from testing.bubblewrap import needs_bubblewrap
from testing.lab import Lab

BREAK = 'lib = pathlib.Path("src/lib.rs"); lib.write_text(lib.read_text().replace("a + b", "a - b"))\n'
JUDGE = 'print(verdict("approved", "good", inspected=["src/lib.rs"]))'
PROJECT = {
    "Cargo.toml": '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n',
    "Cargo.lock": 'version = 3\n\n[[package]]\nname = "calc"\nversion = "0.1.0"\n',
    ".gitignore": "target\n",
    "src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n"
    "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n",
}
SETTINGS = "checks: {test: cargo test --offline --lib, lint: null}\nreview: {agents: [judge], max_cycles: 1}\n"
# what users do who want the first check to be quick
WITH_SETUP = f"{SETTINGS}workspace: {{setup: cargo test --offline --lib --no-run}}\n"


@pytest.fixture
def cargo(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cargo that works with another home directory."""
    toolchains = sorted((Path(pwd.getpwuid(os.getuid()).pw_dir) / ".rustup" / "toolchains").glob("*/bin"))
    if toolchains:
        monkeypatch.setenv("PATH", f"{toolchains[0]}:{os.environ['PATH']}")
    if not shutil.which("cargo"):
        pytest.skip("needs cargo, which is not installed")


@pytest.mark.representatives(1)
@pytest.mark.usefixtures("cargo")
@pytest.mark.parametrize("confined", [True, False], ids=["confined", "unconfined"])
@pytest.mark.parametrize("settings", [SETTINGS, WITH_SETUP], ids=["no set-up", "set-up that builds"])
def test_a_build_folder_with_newer_time_stamps_does_not_hide_a_broken_change(
    tmp_path: Path, confined: bool, settings: str
) -> None:
    if confined:
        needs_bubblewrap()
    lab = Lab.make(tmp_path, author=BREAK, judge=JUDGE, extra=settings, confined=confined)
    lab.repo.commit(PROJECT, "a project")
    subprocess.run(
        ["cargo", "test", "--offline", "--lib"],
        cwd=lab.repo.path,
        env={**os.environ, **lab.env},
        check=True,
        capture_output=True,
        timeout=120,
    )
    later = time.time() + 86_400
    for place in (lab.repo.path / "target").rglob("*"):
        os.utime(place, (later, later), follow_symlinks=False)
    lab.add()
    lab.burnish("run", code=None)
    (check,) = lab.show()["cycles"][0]["checks"]
    assert (lab.task()["status"], check["new"]) == ("blocked", ["calc (src/lib.rs) adds"])


# Go does not see that the test depends on the program.
GO_TEST = """package e2e

import (
	"os/exec"
	"testing"
)

func TestPrintsThree(t *testing.T) {
	out, err := exec.Command("go", "run", "../cmd/calc").CombinedOutput()
	if err != nil || string(out) != "3\\n" {
		t.Fatalf("%s %v", out, err)
	}
}
"""
GO_PROJECT = {
    "go.mod": "module example.org/calc\n\ngo 1.18\n",
    "cmd/calc/main.go": 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println(1 + 2) }\n',
    "e2e/cli_test.go": GO_TEST,
}
GO_AUTHOR = """p = pathlib.Path("cmd/calc/main.go")
p.write_text(p.read_text().replace("1 + 2", "1 - 2") if cycle > 1 else p.read_text() + "// The program.\\n")
"""
GO_JUDGE = """
inspected = ["cmd/calc/main.go"]
if cycle == 1:
    print(verdict("changes_requested", "first", [{**flaw, "file": inspected[0], "line": 1}], inspected=inspected))
else:
    settled = [{"id": "F1", "state": "resolved", "note": "it says more"}]
    print(verdict("approved", "good", inspected=inspected, prior=settled))
"""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("go"), reason="needs go")
@pytest.mark.parametrize("command", ["go test ./...", "make test"])
def test_results_that_go_has_stored_do_not_hide_a_broken_change(tmp_path: Path, command: str) -> None:
    settings = f"checks: {{test: {command}, lint: null}}\nreview: {{agents: [judge], max_cycles: 2}}\n"
    lab = Lab.make(tmp_path, author=GO_AUTHOR, judge=GO_JUDGE, extra=settings, confined=False)
    lab.repo.commit({**GO_PROJECT, "Makefile": "test:\n\tgo test ./...\n"}, "a project")
    lab.add()
    lab.burnish("run", code=None)
    results = [check["status"] for cycle in lab.show()["cycles"] for check in cycle["checks"]]
    assert results == ["passed", "failed"]
    assert lab.task()["status"] == "blocked"


@pytest.mark.long
def test_downloaded_packages_are_found_inside_and_stay_unchanged(tmp_path: Path) -> None:
    needs_bubblewrap()
    look = (
        "cat ~/.cargo/registry/pkg ~/go/pkg/mod/pkg ~/.m2/repository/pkg "
        "&& echo changed > ~/.cargo/registry/pkg && touch ~/go/pkg/mod/new && test ! -e ~/.cargo/credentials.toml"
    )
    lab = Lab.make(
        tmp_path,
        author=f'import subprocess; subprocess.run(["sh", "-c", {look!r}], check=True); '
        'pathlib.Path("app.py").write_text("done\\n")',
        extra=f"checks: {{test: '{look}', lint: null}}\n",
        confined=True,
    )
    home = Path(lab.env["HOME"])
    for name in (".cargo/registry/pkg", "go/pkg/mod/pkg", ".m2/repository/pkg", ".cargo/credentials.toml"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("downloaded")
    lab.add()
    lab.burnish("run")
    assert lab.task()["status"] == "verified", "author and checks read the packages, in a layer of their own"
    assert (home / ".cargo/registry/pkg").read_text() == "downloaded" and not (home / "go/pkg/mod/new").exists()
