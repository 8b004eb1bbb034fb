"""Variables that a trusted repository sets (`isolation.env`) reach its programs, and do not open the sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.bubblewrap import needs_bubblewrap
from testing.lab import Lab

SECRET = "only-the-user-reads-this"
# not the secret itself: the settings with this command are below the home directory, too
PATTERN = "only-the-user-reads-thi[s]"
READ = """
found = []
for folder, _, names in os.walk(os.path.expanduser("~")):
    for name in names:
        try:
            found.append(pathlib.Path(folder, name).read_text("utf-8", "replace"))
        except OSError:
            pass
here["leaked"] = any(SECRET in text for text in found)
here["variable"] = os.environ.get(NAME, "")
pathlib.Path("app.py").write_text("done\\n")
"""
JUDGE = 'print(verdict("approved", "good", inspected=["app.py"]))'
# variable → what of the home directory it names
NAMED = {
    "SSL_CERT_DIR": "keys",
    "NODE_EXTRA_CA_CERTS": "keys/bin/tool.py",
    "PIP_CONFIG_FILE": "keys/bin/tool.py",
    "GOMODCACHE": "keys",
    "GOPATH": "keys",
    "GRADLE_USER_HOME": "keys",
    "PATH": "keys/bin",
}


@pytest.mark.representatives(1)
@pytest.mark.parametrize("name", NAMED)
def test_a_variable_of_the_repository_shows_nothing_of_the_home_directory(tmp_path: Path, name: str) -> None:
    needs_bubblewrap()
    home = tmp_path / "home"
    for path in ("bin/tool.py", "lib/data", "pkg/mod/data", "wrapper/data", "data"):
        (home / "keys" / path).parent.mkdir(parents=True, exist_ok=True)
        (home / "keys" / path).write_text(f"# {SECRET}\n")
    value = f"{home / NAMED[name]}" + (":/usr/bin:/bin" if name == "PATH" else "")
    lab = Lab.make(
        tmp_path,
        author=READ.replace("SECRET", repr(SECRET)).replace("NAME", repr(name)),
        judge=JUDGE,
        extra=f"isolation: {{env: {{{name}: '{value}'}}}}\nchecks: {{test: '! grep -rq {PATTERN} ~', lint: null}}\n",
        confined=True,
    )
    lab.add()
    lab.burnish("run")
    (author,) = [call for call in lab.calls("end") if call["phase"] == "implement"]
    assert (author["variable"], author["leaked"]) == (value, False)
    (check,) = lab.show()["cycles"][0]["checks"]
    assert check["status"] == "passed", "the check found the secret"


@pytest.mark.slow
def test_loader_variables_of_the_repository_act_inside_of_the_sandbox_alone(tmp_path: Path) -> None:
    needs_bubblewrap()
    outside = tmp_path / "home" / "loader"
    outside.mkdir(parents=True)
    # what the dynamic loader is told to write would be written by bubblewrap as well: LD_PRELOAD would run code there
    variables = f"LD_DEBUG: statistics, LD_DEBUG_OUTPUT: '{outside}/report'"
    lab = Lab.make(
        tmp_path,
        author=READ.replace("SECRET", repr(SECRET)).replace("NAME", "'LD_DEBUG'"),
        judge=JUDGE,
        extra=f"isolation: {{env: {{{variables}}}}}\nchecks: {{test: 'test $LD_DEBUG = statistics', lint: null}}\n",
        confined=True,
    )
    lab.add()
    lab.burnish("run")
    assert list(outside.iterdir()) == []
    (author,) = [call for call in lab.calls("end") if call["phase"] == "implement"]
    (check,) = lab.show()["cycles"][0]["checks"]
    assert (author["variable"], check["status"]) == ("statistics", "passed")


def test_a_program_that_only_the_path_of_the_repository_finds_is_not_started_outside(tmp_path: Path) -> None:
    needs_bubblewrap()
    started = tmp_path / "started"
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("evilcheck", "bwrap"):
        (tools / name).write_text(f"#!/bin/sh\necho {name} >> {started}\n")
        (tools / name).chmod(0o755)
    lab = Lab.make(
        tmp_path / "lab",
        judge=JUDGE,
        extra=f"isolation: {{env: {{PATH: '{tools}:/usr/bin:/bin'}}}}\nchecks: {{test: [evilcheck], lint: null}}\n",
        confined=True,
    )
    lab.add()
    said = lab.burnish("run", code=None)
    assert not started.exists(), said
    assert said.code == 3 and "evilcheck" in said.out
