"""Ad-hoc reviews of other languages: syntax that a change breaks, tests that it switches off, and what that costs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from burnish.features.review.adhoc_review import AdhocResult, review_change
from burnish.git import run
from burnish.git.review_target import ReviewTarget
from burnish.proc.run import StopToken
from testing.long_forms import IS_LONG
from testing.userrepo import UserRepo

JS = "export function add(a, b) {\n  return a + b\n}\n\nexport const list = [1, 2]\n"
TS = "interface Point {\n  x: number\n  y: number\n}\n\nexport const zero: Point = { x: 0, y: 0 }\n"
TSX = "export function Title(props: { text: string }) {\n  return <h1 className='a'>{props.text}</h1>\n}\n"
GO = 'package a\n\nimport "fmt"\n\nfunc F(n int) {\n\tif n > 1 {\n\t\tfmt.Println(n)\n\t}\n}\n'
RUST = "pub fn f(n: u32) -> u32 {\n    match n {\n        0 => 1,\n        _ => n * 2,\n    }\n}\n"
SHELL = '#!/usr/bin/env bash\nfor f in *.txt; do\n  if [ -f "$f" ]; then\n    echo "$f"\n  fi\ndone\n'
JAVA = "class A {\n    int f(int n) {\n        return n + 1;\n    }\n}\n"

# path, before, after
BROKEN = {
    "js-brace": ("a.js", JS, JS.replace("return a + b\n}", "return a + b\n")),
    "js-operator": ("a.js", JS, JS.replace("a + b", "a + ")),
    "js-common": ("b.cjs", "module.exports = { a: 1 }\n", "module.exports = { a: 1 \n"),
    "js-twice": ("a.js", JS, JS + "export const list = []\n"),
    "js-new-file": ("new.mjs", None, "import a from 'a'\nconst b = (a;\n"),
    "ts-brace": ("a.ts", TS, TS.replace("y: number\n}", "y: number\n")),
    "ts-type": ("a.ts", TS, TS.replace("zero: Point =", "zero: = ")),
    "ts-paren": ("a.ts", TS, TS + "export function f(a: number { return a }\n"),
    "tsx-tag": ("a.tsx", TSX, TSX.replace("</h1>", "</h1")),
    "go-paren": ("a.go", GO, GO.replace("fmt.Println(n)", "fmt.Println(n")),
    "go-brace": ("a.go", GO, GO.replace("if n > 1 {", "if n > 1")),
    "rust-arrow": ("a.rs", RUST, RUST.replace("0 => 1", "0 = 1")),
    "rust-brace": ("a.rs", RUST, RUST.replace("    }\n}", "    }\n")),
    "shell-fi": ("a.sh", SHELL, SHELL.replace("  fi\n", "")),
    "shell-quote": ("run", SHELL, SHELL.replace('echo "$f"', 'echo "$f')),
    "java-semicolon": ("A.java", JAVA, JAVA.replace("n + 1;", "n + 1")),
}
NEEDS = {"js-twice": "node", "shell-fi": "bash", "shell-quote": "bash"}


def reviewed(repo: UserRepo, wish: ReviewTarget | None = None, *, tests: bool | None = False) -> AdhocResult:
    flags = {"review": {"agents": ["static"]}}
    return review_change(
        repo.path, wish or ReviewTarget(), flags=flags, tests=tests, stop=StopToken(), say=lambda text: None
    )


def rules(done: AdhocResult) -> list[tuple[str | None, str]]:
    return [(finding.remark.file, finding.remark.rule) for finding in done.findings]


@pytest.mark.slow
def test_each_planted_syntax_error_of_another_language_blocks_a_commit_that_is_not_checked_out(
    user_repo: UserRepo,
) -> None:
    before = {f"{name}/{path}": text for name, (path, text, _) in BROKEN.items() if text is not None}
    user_repo.commit(before)
    sha = user_repo.commit({f"{name}/{path}": after for name, (path, _, after) in BROKEN.items()})
    user_repo.git("checkout", "-q", "HEAD~1")
    found = dict(rules(reviewed(user_repo, ReviewTarget("rev", sha))))
    expected = {name for name in BROKEN if shutil.which(NEEDS.get(name, "sh"))}
    assert {name for name in expected if found.get(f"{name}/{BROKEN[name][0]}") != "syntax-error"} == set()


@pytest.mark.slow
def test_a_file_that_was_broken_before_is_not_blamed_on_the_change(user_repo: UserRepo) -> None:
    user_repo.commit({path: after for path, _, after in BROKEN.values()})
    user_repo.write({path: f"{after}\n" for path, _, after in BROKEN.values()})
    assert reviewed(user_repo).findings == ()


# Valid, and unknown to the grammar or to an old parser.
VALID = {
    "types.ts": "export type * from './a'\nexport type * as B from './b'\n",
    "load.ts": "const m = await load<typeof import('./a')>()\nlet s: import('x').Y[]\n",
    "overloads.ts": "interface Use {\n  (): number\n  <U>(pick: (n: number) => U): U\n  (n: string): void\n}\n",
    "variance.ts": "export interface Box<in out T, out U = unknown> { t: T }\n",
    "card.jsx": "export const A = () => (\n  <>\n    <img src={a} class='b' />\n  </>\n)\n",
    "module.js": "import a from 'a'\nexport default await a()\n",
    "decorated.js": "class A {\n  @observed name = 1\n}\n",
    "glob.sh": "#!/bin/bash\nshopt -s extglob\nrm -f !(a|b)\n",
    "prompt.sh": "#!/usr/bin/env zsh\nprint ${(%):-%N}; repeat 3 do echo; done\n",
    "fixtures/broken.js": "const = ;\n",
    "page.js": "const title = {{ title }};\n",
}


def test_valid_code_that_grammars_do_not_know_templates_and_test_data_raise_nothing(user_repo: UserRepo) -> None:
    user_repo.write(VALID)
    assert [one for one in rules(reviewed(user_repo)) if one[1] == "syntax-error"] == []


GO_TEST = 'package a\n\nimport "testing"\n\nfunc TestA(t *testing.T) {\n\tif F() != 1 {\n\t\tt.Fatal()\n\t}\n}\n'
TESTS_BEFORE = {
    "test_a.py": "def test_one():\n    assert f() == 1\n\n\ndef test_two():\n    assert f() == 2\n",
    "a_test.go": GO_TEST,
    "a.test.js": "it('adds', () => {\n  expect(add(1, 1)).toBe(2)\n})\n",
    "gone_test.go": 'package a\n\nimport "testing"\n\nfunc TestGone(t *testing.T) {\n\tt.Fatal()\n}\n',
}


@pytest.mark.slow
def test_deleted_renamed_and_skipped_tests_are_named_and_do_not_block(user_repo: UserRepo) -> None:
    user_repo.commit(TESTS_BEFORE)
    user_repo.write(
        {
            "test_a.py": TESTS_BEFORE["test_a.py"].replace("test_two", "xtest_two"),
            "a_test.go": GO_TEST.replace("\tif F()", "\tt.Skip()\n\tif F()"),
            "a.test.js": TESTS_BEFORE["a.test.js"].replace("it('adds'", "it.skip('adds'"),
        }
    )
    (user_repo.path / "gone_test.go").unlink()
    done = reviewed(user_repo)
    lost = {finding.remark.file for finding in done.findings if finding.remark.rule == "lost-test"}
    assert lost == set(TESTS_BEFORE) and done.passed


@pytest.mark.slow
def test_new_tests_for_one_system_only_and_tests_that_moved_are_not_lost(user_repo: UserRepo) -> None:
    user_repo.commit(TESTS_BEFORE)
    skipped = (
        "import sys, pytest\n\n\n@pytest.mark.skipif(sys.platform == 'win32', reason='no sed')\ndef test_three():\n"
    )
    user_repo.write(
        {
            "test_b.py": TESTS_BEFORE["test_a.py"],
            "test_c.py": f"{skipped}    assert f() == 3\n\n\n@pytest.mark.skip\ndef test_four():\n    assert f()\n",
            "a_test.go": GO_TEST.replace("\tif F()", "\tif testing.Short() {\n\t\tt.Skip()\n\t}\n\tif F()"),
        }
    )
    (user_repo.path / "test_a.py").unlink()
    assert [one for one in rules(reviewed(user_repo)) if one[1] == "lost-test"] == []


@pytest.mark.slow
def test_one_commit_of_a_large_repository_is_reviewed_without_checking_out_the_tree(tmp_path: Path) -> None:
    repo = UserRepo.make_big(tmp_path / "big", 20_000 if IS_LONG else 4_000)
    sha = repo.commit({"one.js": JS.replace("a + b", "a + ")})
    run.calls.reset()
    done = reviewed(repo, ReviewTarget("rev", sha))
    assert [finding.remark.file for finding in done.findings] == ["one.js"]
    assert not {"read-tree", "checkout-index", "archive"} & set(run.calls.by_command), run.calls.by_command
    # four of them compare the objects of the change with their names
    assert run.calls.total < 24, run.calls.by_command


@pytest.mark.slow
def test_a_linter_of_the_checkout_looks_at_any_commit_of_a_trusted_repository_and_at_none_without_trust(
    user_repo: UserRepo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BURNISH__SANDBOX__MODE", "off")
    mark = tmp_path / "mark"
    user_repo.commit({"a.js": JS, "eslint.config.js": "export default []\n", ".gitignore": "node_modules\n"})
    sha = user_repo.commit({"a.js": JS + "undefinedName()\n"})
    user_repo.git("checkout", "-q", "HEAD~1")
    linter = user_repo.path / "node_modules" / ".bin" / "eslint"
    linter.parent.mkdir(parents=True)
    message = '{"ruleId":"no-undef","severity":2,"message":"undefinedName is not defined","line":6}'
    linter.write_text(f'#!/bin/sh\ntouch {mark}\necho \'[{{"filePath":"\'$PWD\'/a.js","messages":[{message}]}}]\'\n')
    linter.chmod(0o755)
    assert reviewed(user_repo, ReviewTarget("rev", sha)).findings == () and not mark.exists()
    user_repo.trust()
    assert reviewed(user_repo, ReviewTarget("rev", sha)).findings == () and not mark.exists()  # --no-tests
    assert rules(reviewed(user_repo, ReviewTarget("rev", sha), tests=None)) == [("a.js", "no-undef")]
