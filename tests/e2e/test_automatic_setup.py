"""Without burnish.yaml: the set-up is what `init` would find, for `run`, `review` and `doctor`, and made once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from testing.bubblewrap import needs_bubblewrap
from testing.lab import Lab

# As npm behaves: `test` needs what `ci` has installed. It stands in for the real one, which takes seconds to start.
NPM = """#!/bin/sh
case "$1" in
ci) mkdir -p node_modules/.bin && printf '#!/bin/sh\\ngrep -q "a + b" index.js\\n' > node_modules/.bin/runner
    chmod +x node_modules/.bin/runner ;;
test) exec node_modules/.bin/runner ;;
run) mkdir -p dist && cp src/add.js dist/add.js ;;
esac
"""
PROJECT = {
    "package.json": '{"name": "sum", "scripts": {"test": "runner"}, "devDependencies": {"runner": "1.0.0"}}\n',
    "package-lock.json": '{"name": "sum", "lockfileVersion": 3, "packages": {}}\n',
    "index.js": "module.exports = (a, b) => a + b\n",
    ".gitignore": "node_modules\n",
}
AUTHOR = 'file = pathlib.Path("index.js"); file.write_text(file.read_text() + "// better\\n")\n'
JUDGE = 'print(verdict("approved", "good", inspected=["index.js"]))'


@pytest.fixture(params=["confined", "unconfined"])
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Lab:
    confined = request.param == "confined"
    if confined:
        needs_bubblewrap()
    lab = Lab.make(tmp_path, author=AUTHOR, judge=JUDGE, confined=confined)
    own = Path(lab.env["HOME"], ".config/burnish/config.yaml")
    before = own.read_text() if own.exists() else ""
    lab.user_settings(before + lab.settings("checks: {}\n"))
    program = tmp_path / "bin" / "npm"
    program.parent.mkdir()
    program.write_text(NPM)
    program.chmod(0o755)
    lab.env["PATH"] = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    (lab.repo.path / "burnish.yaml").unlink()
    lab.repo.commit(PROJECT, "a Node project")
    return lab


@pytest.mark.representatives(1)
def test_a_node_project_is_set_up_once_and_only_after_it_is_trusted(lab: Lab) -> None:
    lab.add()
    refused = lab.burnish("run", "1", code=4)
    assert "trust" in refused.err and not lab.calls()
    lab.trust()
    notes = []
    for number in ("1", "2"):
        if number == "2":
            lab.add()
        notes.append(lab.burnish("run", number).err)
    assert [note.count("Setting up the environment") for note in notes] == [1, 0], notes
    assert {task["status"] for task in lab.burnish("status", "--json").json["tasks"]} == {"verified"}
    (check,) = lab.show()["cycles"][0]["checks"]
    assert (check["name"], check["command"], check["status"]) == ("test", "npm test", "passed")


@pytest.mark.long
def test_review_and_doctor_use_the_same_set_up(lab: Lab) -> None:
    lab.trust()
    lab.repo.commit({"index.js": "module.exports = (a, b) => a - b\n"}, "broken")
    lab.user_settings(lab.settings("checks: {}\nreview: {agents: [static]}\n"))
    reviewed = lab.burnish("review", "HEAD~1..HEAD", "--json", code=None)
    (check,) = reviewed.json["checks"]
    assert (check["command"], check["state"]) == ("npm test", "new_failures"), reviewed
    signs = {sign["name"]: sign for sign in lab.burnish("doctor", "--json", code=None).json}
    assert signs["set-up"]["what"] == "`npm ci`, because of package-lock.json"


BUILT = {
    "package.json": '{"name": "sum", "scripts": {"build": "tsc", "test": "sh test/add.test.js"}}\n',
    "src/add.js": "exports.add = (a, b) => a + b\n",
    "test/add.test.js": 'require("../dist/add.js")\n',
    ".gitignore": "node_modules\ndist\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("bug", [False, True])
def test_the_build_that_the_tests_need_is_found_as_well(lab: Lab, bug: bool) -> None:
    npm = Path(lab.env["PATH"].partition(os.pathsep)[0], "npm")
    npm.write_text(NPM.replace("exec node_modules/.bin/runner", "grep -q 'a + b' dist/add.js"))
    lab.repo.git("rm", "-q", "index.js")
    lab.repo.commit(BUILT, "a built project")
    edit = 'text.replace("a + b", "a - b")' if bug else 'text + "// better\\n"'
    lab.agent("robot", f'file = pathlib.Path("src/add.js"); text = file.read_text(); file.write_text({edit})\n')
    lab.agent("judge", JUDGE.replace("index.js", "src/add.js"))
    lab.user_settings(lab.settings("checks: {}\nreview: {agents: [judge], max_cycles: 1}\n"))
    lab.trust()
    lab.add()
    lab.burnish("run", "1", code=None)
    assert lab.task()["status"] == ("blocked" if bug else "verified"), lab.show()["note"]
    if bug:
        lab.user_settings(lab.settings("checks: {}\nreview: {agents: [static]}\n"))
        lab.repo.commit({"src/add.js": "exports.add = (a, b) => a - b\n"}, "broken")
        reviewed = lab.burnish("review", "HEAD~1..HEAD", "--json", code=None)
        assert [check["state"] for check in reviewed.json["checks"]] == ["new_failures"], reviewed
