"""Test commands that end with exit code 0 although the change broke something."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from burnish.core.check import SCRIPT_RESULT
from testing.lab import Lab

REVIEW = 'print(verdict("approved", "good", inspected=["calc.py", "calc.js", "calc.c", "calc.sh"]))'
EDIT = """
import re
for name, old, new in {edits}:
    path = pathlib.Path(name)
    path.write_text(path.read_text().replace(old, new))
"""
PYTHON, JAVASCRIPT = "def add(a, b):\n    return a + b\n", "exports.add = (a, b) => a + b;\n"
PY_TEST = "import sys; sys.path.insert(0, '.')\nfrom calc import add\nassert add(1, 2) == 3\nprint('a passed')\n"
JS_TEST = (
    "const { add } = require('./calc');\nconsole.assert(add(1, 2) === 3, 'add');\nconsole.log('end of the tests');\n"
)
JS_END = "const { add } = require('./calc');\nconsole.log('running');\nadd(1, 2);\nconsole.log('all tests passed');\n"
SHELL = ". ./calc.sh\n[ \"$(add 1 2)\" = 3 ] && echo 'add: PASS' || echo 'add: FAIL'\necho end\n"
C_TEST = "#include <stdio.h>\nint add(int, int);\n"
C_TEST += 'int main(void) { printf("add [%s]\\n", add(1, 2) == 3 ? "PASS" : "FAIL"); }\n'
DIFF = "python3 calc.py | diff out.txt -; true\n"
BUG = ("a + b", "a - b")
SHELL_LOOP = (
    f'n=0 r=0; for t in tests/test_*.sh; do n=$((n+1)); sh "$t" {SCRIPT_RESULT} || r=1; done; echo "1..$n"; exit $r'
)
# files, the test command, the file with the bug, the bug, and why the bug waits
PROJECTS = {
    "a loop that ignores exit codes": (
        {"calc.py": PYTHON, "tests/a.py": PY_TEST, "tests/b.py": "print('b passed')\n"},
        "for t in tests/*.py; do python3 $t; done",
        "calc.py",
        BUG,
        "(AssertionError)",
    ),
    "console.assert": (
        {"calc.js": JAVASCRIPT, "test.js": JS_TEST},
        "node test.js",
        "calc.js",
        BUG,
        "Assertion failed: add",
    ),
    "a module that ends the process": (
        {"calc.js": JAVASCRIPT, "test.js": JS_END},
        "node test.js",
        "calc.js",
        ("a + b", "process.exit(0)"),
        "not its last line (all tests passed)",
    ),
    "a program that prints PASS and FAIL": (
        {"calc.c": "int add(int a, int b) { return a + b; }\n", "t.c": C_TEST},
        "cc -o t t.c calc.c && ./t",
        "calc.c",
        BUG,
        "add [FAIL]",
    ),
    "a script that only prints diff": (
        {
            "calc.py": PYTHON + "print(add(1, 2))\n",
            "out.txt": "3\n",
            "check.sh": "python3 calc.py | diff out.txt -; true\n",
        },
        "sh check.sh && echo end",
        "calc.py",
        BUG,
        "(1c1)",
    ),
    "a script that prints PASS and FAIL": (
        {"calc.sh": "add() { echo $(($1 + $2)); }\n", "tests/test_calc.sh": SHELL},
        SHELL_LOOP,
        "calc.sh",
        ("$1 + $2", "$1 - $2"),
        "add: FAIL",
    ),
}
NEEDS = {".js": "node", ".c": "cc"}


def run(root: Path, files: dict[str, str], command: str, edits: list[tuple[str, str, str]]) -> Lab:
    report = ", tap: '-'" if SCRIPT_RESULT in command else ""
    checks = f"checks:\n  lint: null\n  test: {{run: '{command}'{report}}}\n"
    lab = Lab.make(root, author=EDIT.format(edits=edits), judge=REVIEW, extra=checks)
    lab.repo.commit(files, "a project")
    lab.add()
    lab.burnish("run", code=None)
    return lab


@pytest.mark.slow
@pytest.mark.representatives(2)
@pytest.mark.parametrize("project", PROJECTS)
def test_a_failure_that_a_test_command_prints_and_ignores_waits_for_a_person(tmp_path: Path, project: str) -> None:
    files, command, name, (old, new), reason = PROJECTS[project]
    if not shutil.which(NEEDS.get(Path(name).suffix, "sh")):
        pytest.skip("the language is not installed")
    lab = run(tmp_path / "bug", files, command, [(name, old, new)])
    assert lab.task()["status"] == "waiting_approval"
    assert reason in lab.show()["note"]
    sound = run(tmp_path / "sound", files, command, [(name, old, f"{old} ")])
    assert sound.task()["status"] == "verified"
    assert sound.show()["cycles"][0]["warnings"] == []


WORDS = ". ./calc.sh\nif [ \"$(add 1 2)\" = 3 ]; then echo 'add is right'; else echo 'add is wrong'; fi\necho end\n"
LINT = "import pathlib\nfor n, line in enumerate(pathlib.Path('calc.py').read_text().splitlines(), 1):\n"
LINT += "    if 'eval(' in line:\n        print(f'calc.py:{n}:1: S307 use of eval')\n"


@pytest.mark.slow
def test_a_failure_in_unknown_words_and_a_linter_that_ends_with_0_are_named_and_shown_to_the_reviewer(
    tmp_path: Path,
) -> None:
    lab = Lab.make(
        tmp_path,
        author=EDIT.format(edits=[("calc.sh", "+", "-"), ("calc.py", "a + b", "eval('a + b')")]),
        judge=REVIEW,
        extra="checks: {test: sh check.sh, lint: python3 lint.py}\n",
    )
    files = {"calc.sh": "add() { echo $(($1 + $2)); }\n", "calc.py": PYTHON, "check.sh": WORDS, "lint.py": LINT}
    lab.repo.commit(files, "a project")
    lab.add()
    lab.burnish("run")
    notes = lab.show()["cycles"][0]["warnings"]
    test = "test ends with exit code 0, but prints `add is wrong` where it printed `add is right` before the change"
    lint = "lint ends with exit code 0, but prints a problem that it did not print before: calc.py: use of eval"
    assert notes == [f"{test}.", f"{lint}."]
    prompt = next(call["prompt"] for call in lab.calls() if call["phase"] == "review")
    assert test in prompt and lint in prompt and "add is right\nend" in prompt


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("cc") and shutil.which("make")), reason="needs a C compiler and make")
def test_committed_object_files_do_not_hide_a_changed_source(tmp_path: Path) -> None:
    rules = "test: t\n\t./t\nt: t.o calc.o\n\tcc -o t t.o calc.o\n.PHONY: test\n"
    source, test = (
        "int add(int a, int b) { return a + b; }\n",
        "int add(int, int);\nint main(void) { return add(1, 2) != 3; }\n",
    )
    lab = Lab.make(
        tmp_path,
        author=EDIT.format(edits=[("calc.c", "a + b", "a - b")]),
        judge=REVIEW,
        extra="checks: {test: make test, lint: null}\nreview: {agents: [judge], max_cycles: 1}\n",
    )
    lab.repo.commit({"Makefile": rules, "calc.c": source, "t.c": test}, "a project")
    subprocess.run(["make", "-s", "t"], cwd=lab.repo.path, check=True)
    lab.repo.git("add", "--force", "t", "t.o", "calc.o")
    lab.repo.git("commit", "-qm", "with build results")
    lab.add("A first task, which takes the baseline", "--agent", "judge")
    lab.burnish("run", "1", code=None)
    lab.add("Simplify")
    lab.burnish("run", "2", code=None)
    assert lab.task(2)["status"] == "blocked"
