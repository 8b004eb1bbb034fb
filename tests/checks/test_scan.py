"""Analysers on real files: ruff as it is, those of other languages as programs that print what they print."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from burnish.adapters.static_reviewer import static_review
from burnish.core.change import Change, ChangedFile, Hunk
from burnish.core.finding import Category, Severity
from burnish.core.review import Review, Verdict
from burnish.proc.environment import listed_environment
from burnish.proc.stop import StopToken
from testing.defects import changed_file

Tool = Callable[..., Path]


class Site:
    """Files before and after, and a reviewer to look at them."""

    def __init__(self, root: Path) -> None:
        self.files, self.out, self.checkout = root / "files", root / "out", root / "checkout"
        self.tools = root / "tools"
        for folder in (self.files, self.checkout, self.tools):
            folder.mkdir()
        self.before: dict[str, str] = {}
        self.changed: list[ChangedFile] = []

    def base(self, **files: str) -> Site:
        return self.lay({path.replace("__", "/").replace("_DOT_", "."): text for path, text in files.items()})

    def lay(self, files: dict[str, str]) -> Site:
        for path, text in files.items():
            self.before[path] = text
            self._write(path, text)
        return self

    def change(self, path: str, text: str) -> Site:
        self.changed.append(changed_file(path, self.before.get(path), text))
        self._write(path, text)
        return self

    def _write(self, path: str, text: str) -> None:
        (self.files / path).parent.mkdir(parents=True, exist_ok=True)
        (self.files / path).write_text(text)

    def review(self, **more: object) -> Review:
        env = listed_environment(os.environ)
        return static_review(
            Change("0" * 40, "1" * 40, tuple(self.changed)),
            files=self.files,
            out_dir=self.out,
            checkout=self.checkout,
            base_text=self.before.get,
            new_text=lambda path: (self.files / path).read_bytes() if (self.files / path).is_file() else None,
            env={**env, "PATH": f"{self.tools}{os.pathsep}{env['PATH']}"},
            **more,  # type: ignore[arg-type]
        )

    def found(self, **more: object) -> list[tuple[str, int | None, str]]:
        return [(remark.rule, remark.line, remark.severity.value) for remark in self.review(**more).remarks]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def tool(path: Path, *, prints: str = "", code: int = 0, does: str = "") -> Path:
    """A program that notes its arguments beside itself, says its line and ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    body = f"import sys\nopen({str(path)!r} + '.argv', 'a').write(repr(sys.argv[1:]) + chr(10))\n{does}\n"
    path.write_text(f"#!{sys.executable}\n{body}sys.stdout.write({prints!r})\nsys.exit({code})\n")
    path.chmod(0o755)
    return path


def test_ruff_speaks_of_changed_lines_with_rule_reason_and_remedy(site: Site) -> None:
    old = "def f(x=[]):\n    return x\n"
    site.lay({"a.py": old}).change("a.py", old + "\n\ndef g(x={}):\n    return nothing\n")
    review = site.review()
    by_rule = {remark.rule: remark for remark in review.remarks}
    assert {(r.rule, r.line) for r in review.remarks} == {("B006", 5), ("F821", 6)}
    assert by_rule["B006"].severity is Severity.WARNING and by_rule["B006"].suggestion
    assert "evaluated once" in by_rule["B006"].description
    assert by_rule["F821"].quote == "return nothing" and review.verdict is Verdict.CHANGES_REQUESTED
    assert review.notes == ()


def test_a_settings_file_cannot_be_softened_by_the_change_it_judges(site: Site) -> None:
    site.lay({"ruff.toml": '[lint]\nselect = ["F", "D103"]\n'})
    site.change("ruff.toml", '[lint]\nselect = []\nignore = ["F821"]\n').change(
        "a.py", "def f():\n    return nothing\n"
    )
    site.change("pkg/ruff.toml", 'exclude = ["*"]\n').change("pkg/b.py", "def g():\n    return nothing\n")
    assert site.found() == [("F821", 2, "error"), ("F821", 2, "error"), ("D103", 1, "info"), ("D103", 1, "info")]


def test_what_the_repository_allows_at_the_base_is_allowed(site: Site) -> None:
    settings = '[tool.ruff.lint]\nignore = ["S307"]\n[tool.ruff.lint.per-file-ignores]\n"gen/*.py" = ["B"]\n'
    site.lay({"pyproject.toml": settings})
    site.change("gen/a.py", "def f(x=[]):\n    return eval(x)\n").change("b.py", "def f(x=[]):\n    return x\n")
    assert [(r.file, r.rule) for r in site.review().remarks] == [("b.py", "B006")]


def test_settings_that_extend_others_are_found(site: Site) -> None:
    site.lay({"base.toml": '[lint]\nselect = ["D103"]\n', "pkg/ruff.toml": 'extend = "../base.toml"\n'})
    site.change("pkg/a.py", "def f():\n    return 1\n")
    assert site.found() == [("D103", 1, "info")]


def test_settings_that_cannot_be_read_are_a_note(site: Site) -> None:
    site.lay({"ruff.toml": "no-such-key = 1\n"}).change("a.py", "def f():\n    return nothing\n")
    review = site.review()
    assert [remark.rule for remark in review.remarks] == ["F821"]
    assert len(review.notes) == 1 and review.notes[0].startswith("ruff:")


def test_new_syntax_counts_only_where_the_project_promises_old_pythons(site: Site) -> None:
    site.change("new/a.py", "type Pair = tuple[int, int]\n")
    assert site.found() == []
    site.lay({"pyproject.toml": '[project]\nname = "x"\nrequires-python = ">=3.9"\n'})
    assert site.found() == [("syntax-error", 1, "error")]


def test_tests_may_do_what_tests_do(site: Site) -> None:
    text = "import pickle\n\n\ndef test_it(x):\n    assert pickle.loads(x) == eval('1')\n"
    assert site.change("tests/test_a.py", text).found() == []
    assert site.change("a.py", text.replace("assert", "return")).found() == [
        ("S301", 5, "warning"),
        ("S307", 5, "warning"),
    ]


def test_what_a_deletion_broke_is_told_of_the_file(site: Site) -> None:
    old = "import os\nimport sys\n\n\ndef f():\n    return os.getcwd(), sys.argv, lost\n"
    site.lay({"a.py": old}).change("a.py", old.replace("import os\n", ""))
    (remark,) = site.review().remarks
    assert remark.rule == "F821" and "`os`" in remark.title and remark.line is None
    assert "line 5" in remark.description


def test_a_conflict_in_code_is_one_finding(site: Site) -> None:
    site.change("a.py", "<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> other\n")
    assert site.found() == [("conflict-marker", 1, "error")]


def test_nothing_is_written_into_the_reviewed_files(site: Site) -> None:
    site.lay({"ruff.toml": 'cache-dir = ".here"\n'}).change("a.py", "import os\n")
    before = sorted(site.files.rglob("*"))
    digest = hashlib.sha256(b"".join(p.read_bytes() for p in before if p.is_file())).hexdigest()
    site.review()
    after = sorted(site.files.rglob("*"))
    assert after == before
    assert hashlib.sha256(b"".join(p.read_bytes() for p in after if p.is_file())).hexdigest() == digest


def test_odd_files_do_no_harm(site: Site) -> None:
    odd = os.fsdecode(b"bad\xff.py")
    (site.files / odd).write_text("import os\n")
    (site.files / "link.py").symlink_to("/etc/passwd")
    (site.files / "latin.py").write_bytes(b'x = "\xe9"\n')
    (site.files / "nul.py").write_bytes(b"x = 1\0\n")
    (site.files / "new\nline.py").write_text("import os\n")
    (site.files / "-dash.py").write_text("def f():\n    return nothing\n")
    hunk = (Hunk(0, 0, 1, 2, "@@ -0,0 +1,2 @@\n+x\n+y\n"),)
    for path in (odd, "latin.py", "nul.py", "new\nline.py", "-dash.py"):
        site.changed.append(ChangedFile(path, "A", hunks=hunk))
    site.changed.append(ChangedFile("link.py", "A", new_mode="120000", hunks=hunk))
    site.changed.append(ChangedFile("sub", "A", new_mode="160000", hunks=hunk))
    site.changed.append(ChangedFile("gone.py", "D", new_mode="000000"))
    site.changed.append(ChangedFile("new.py", "R", old_path="old.py"))
    review = site.review()
    assert ("-dash.py", "F821") in [(remark.file, remark.rule) for remark in review.remarks]
    # content that cannot be read as text, and what has no content of its own, was not looked at
    assert set(review.inspected) == {file.path for file in site.changed} - {"nul.py"}
    assert "1 files with names that are not UTF-8 were not analysed" in review.notes


def test_a_stop_leaves_a_note_and_no_exception(site: Site) -> None:
    stop = StopToken()
    stop.request(now=True)
    review = site.change("a.py", "def f():\n    return nothing\n").review(stop=stop)
    assert review.remarks == () and review.notes == ("ruff: it was stopped",)


def test_shellcheck_is_read_where_it_is_installed(site: Site) -> None:
    comments = [
        {"file": "./a.sh", "line": 2, "endLine": 2, "level": "warning", "code": 2034, "message": "x appears unused"},
        {"file": "./a.sh", "line": 3, "endLine": 3, "level": "error", "code": 1073, "message": "Couldn't parse this"},
        {"file": "./a.sh", "line": 1, "endLine": 1, "level": "error", "code": 2148, "message": "Add a shebang"},
        {"file": "../../etc/x", "line": 1, "level": "error", "code": 1000, "message": "elsewhere"},
    ]
    program = tool(site.tools / "shellcheck", prints=json.dumps({"comments": comments}), code=1)
    site.change("a.sh", "true\nx=1\nif true; then y=1; fi\n")
    assert site.found() == [("SC1073", 3, "error"), ("SC2034", 2, "warning")]
    assert "--norc" in Path(f"{program}.argv").read_text()


def test_eslint_comes_from_the_checkout_with_the_checkouts_settings(site: Site) -> None:
    report = [
        {
            "filePath": str(site.files / "a.js"),
            "messages": [
                {"ruleId": "no-undef", "severity": 2, "message": "'x' is not defined.", "line": 1, "endLine": 1},
                {"ruleId": "eqeqeq", "severity": 2, "message": "Expected '==='.", "line": 2},
                {"ruleId": "semi", "severity": 1, "message": "Missing semicolon.", "line": 2},
                {
                    "ruleId": None,
                    "fatal": True,
                    "severity": 2,
                    "message": "Parsing error: tsconfig not found",
                    "line": 1,
                },
            ],
        }
    ]
    own = tool(site.checkout / "node_modules" / ".bin" / "eslint", prints=json.dumps(report), code=1)
    (site.checkout / "eslint.config.js").write_text("export default [];\n")
    site.change("a.js", "x\na == b\n").change("eslint.config.js", "process.exit(0)\n")
    review = site.review()
    assert [(r.rule, r.severity.value) for r in review.remarks] == [
        ("no-undef", "error"),
        ("eqeqeq", "warning"),
        ("semi", "info"),
    ]
    assert str(site.checkout / "eslint.config.js") in Path(f"{own}.argv").read_text()
    assert any("may execute code" in note for note in review.notes)


def test_what_runs_the_repositorys_code_can_be_left_out(site: Site) -> None:
    own = tool(site.checkout / "node_modules" / ".bin" / "eslint", prints="[]")
    review = site.change("a.js", "x\n").review(executing=False)
    assert not Path(f"{own}.argv").exists() and "skipped" in review.notes[0]


def test_golangci_gets_the_settings_of_the_base(site: Site) -> None:
    issues = [
        {"FromLinter": "typecheck", "Text": "undefined: x", "Pos": {"Filename": "a.go", "Line": 2}},
        {"FromLinter": "gosec", "Text": "G101: look", "Pos": {"Filename": "a.go", "Line": 1}},
    ]
    program = tool(site.tools / "golangci-lint", prints=json.dumps({"Issues": issues}) + "\n2 issues.\n", code=1)
    site.lay({".golangci.yml": "version: 2\n"}).change(".golangci.yml", "linters: {disable-all: true}\n")
    review = site.change("a.go", "package a\nvar y = x\n").review()
    assert [(r.rule, r.severity, r.category) for r in review.remarks] == [
        ("typecheck", Severity.ERROR, Category.CODE),
        ("gosec", Severity.WARNING, Category.SECURITY),
    ]
    assert (site.out / ".golangci.yml").read_text() == "version: 2\n"
    assert str(site.out / ".golangci.yml") in Path(f"{program}.argv").read_text()


def test_clippy_writes_its_results_elsewhere(site: Site) -> None:
    def message(level: str, code: str, line: int) -> str:
        span = {"file_name": "src/lib.rs", "line_start": line, "line_end": line, "is_primary": True}
        body = {"level": level, "code": {"code": code}, "message": code, "spans": [span]}
        return json.dumps({"reason": "compiler-message", "message": body})

    lines = [
        message("error", "E0425", 1),
        message("warning", "clippy::needless_return", 2),
        '{"reason": "build-finished"}',
    ]
    program = tool(site.tools / "cargo", prints="\n".join(lines))
    tool(site.tools / "cargo-clippy")
    site.lay({"Cargo.lock": ""}).change("src/lib.rs", "fn a() { x }\nfn b() { return; }\n")
    assert site.found() == [("E0425", 1, "error"), ("clippy::needless_return", 2, "warning")]
    assert str(site.out / "target") in Path(f"{program}.argv").read_text()


@pytest.mark.parametrize("does", ["", "sys.exit('broken')", "print('{]')", "import time; time.sleep(60)"])
def test_a_tool_that_fails_is_a_note(site: Site, does: str) -> None:
    tool(site.tools / "shellcheck", does=does)
    review = site.change("a.sh", "true\n").review(timeout_seconds=1.0)
    assert review.remarks == () and review.verdict is Verdict.APPROVED
    assert len(review.notes) == 1 and review.notes[0].startswith("shellcheck:")


def test_a_tool_that_is_not_there_is_one_line(site: Site) -> None:
    env = {"PATH": str(site.tools)}
    for path in ("a.sh", "b.sh", "a.go", "a.ts"):
        site.change(path, "x\n")
    review = static_review(
        Change("0", "1", tuple(site.changed)),
        files=site.files,
        out_dir=site.out,
        checkout=site.checkout,
        base_text=site.before.get,
        new_text=lambda path: (site.files / path).read_bytes(),
        env=env,
    )
    assert review.remarks == () and [note.split()[0] for note in review.notes] == [
        "shellcheck",
        "eslint",
        "golangci-lint",
    ]


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_node_judges_every_file_of_a_large_change_in_one_process(site: Site) -> None:
    for number in range(30):
        name = f"a{number:02}.{'mjs' if number % 2 else 'js'}"
        site.change(name, f"#!/usr/bin/env node\n{'export ' * (number % 2)}const a = {number}\n")
    site.change("a28.js", "const a = 1\nreturn a\nconst a = 2\n")
    site.change("a29.mjs", "export const a = 1\nawait a\nconst a = 2\n")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    remarks = site.review().remarks
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert [(r.file, r.line) for r in remarks if r.rule == "syntax-error"] == [("a28.js", 3), ("a29.mjs", 3)]
    # thirty processes of node would take 2.4 s
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.6
