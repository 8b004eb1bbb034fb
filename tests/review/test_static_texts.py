"""What the static reviewer sees in lines by itself, kind by kind."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from burnish.core.finding import Remark, Severity
from burnish.core.secrets import NO_SECRETS
from burnish.review.static.files import FileScan, scan_file
from burnish.review.static.lines import line_remarks
from burnish.review.static.secrets import AROUND, _lines_to_search, secrets
from burnish.review.static.syntax import syntax_remarks
from testing.changes import binary
from testing.defects import changed_file
from testing.known_secrets import KNOWN

CONFLICT = "<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> other\n"
TOKEN = "gh" + "p_" + "a8Kd02mZqPw7Ls93Xc51Vb64Nn20Rt85Yu17"


def looked(path: str, after: str, before: str | None = None) -> FileScan:
    file = scan_file(changed_file(path, before, after), after.encode(), lambda _: before)
    assert file is not None
    return file


def rules(path: str, after: str, before: str | None = None, *, reads: bool = False) -> list[tuple[str, int | None]]:
    file = looked(path, after, before)
    found: list[Remark] = [*line_remarks(file, reads=reads), *syntax_remarks(file)]
    return [(remark.rule, remark.line) for remark in found]


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("a.py", CONFLICT, [("conflict-marker", 1)]),
        ("a.go", "x\n" + CONFLICT, [("conflict-marker", 2)]),
        ("a.rst", "Title\n=======\n\n>>>>>>> not one\n", []),
        ("a.txt", "<<<<<<< only this\n", []),
        ("a.md", f"```\n{CONFLICT}```\n", []),
        ("a.md", CONFLICT, [("conflict-marker", 1)]),
        ("a.js", "debugger;\n", [("leftover-breakpoint", 1)]),
        ("a.js", "// debugger;\nconst debuggerOn = 1\n", []),
        ("a.js", "console.log(1)\n", [("leftover-debugging", 1)]),
        ("scripts/a.js", "console.log(1)\n", []),
        ("a.test.js", "console.log(1)\n", []),
        ("a.rb", "  byebug\n", [("leftover-breakpoint", 1)]),
        ("a.py", 'print("debug", x)\nprint("Debugger")\n', [("leftover-debugging", 1)]),
        ("a.py", "# ruff: noqa\n", [("lint-switched-off", 1)]),
        ("a.py", "# ruff: noqa: E501\nx = 1  # noqa\n", []),
        ("a.spec.ts", "describe.only('x', () => {})\n", [("focused-test", 1)]),
        ("a.test.js", "describe('x', () => { it.only('y', f) })\n", [("focused-test", 1)]),
        ("a.test.js", "run('it.only(1)') // it.only(\nobj.it.only(1)\nprofit(1)\n", []),
        (
            "a.js",
            "function f(x) { debugger; console.log(x); return x }\n",
            [("leftover-breakpoint", 1), ("leftover-debugging", 1)],
        ),
        ("a.js", "x.map(y => console.log(y))\n", [("leftover-debugging", 1)]),
        ("a.js", "say('; debugger; { console.log(1)') // ; debugger;\n", []),
        ("a.js", "const x = eval(text)\n", [("eval", 1)]),
        (
            "a.ts",
            "class A {\n  eval(node: Node): number { return 1 }\n}\nthis.eval(x)\nfunction eval(a) {\nmedieval(1)\n",
            [],
        ),
        ("a.js", "say('eval(x)') // eval(x)\n", []),
        ("a.test.js", "eval(text)\n", []),
        ("a/__pycache__/b.pyc", "x", [("leftover-file", None)]),
        (".env", "A=1\n", [("env-file", None)]),
        (".env.example", "A=1\n", []),
        ("a.json", "{}\n", []),
        ("a.json", '{"a": 1,}\n', [("syntax-error", 1)]),
        ("a.json", '{\n// why\n"a": 1,}\n', []),
        ("a.json", "", []),
        ("a.json", '{"a": {{ b }}}\n', []),
        ("a.toml", "a = 1\nb = \n", [("syntax-error", 2)]),
        ("a.yml", "a: [\n", [("syntax-error", 1)]),
        ("a.yml", "a: !Ref b\n---\nc: 1\n", []),
        ("a.yml", "a: 1\nb: 2\na: 3\n", [("duplicate-key", 3)]),
        ("package-lock.json", '{"a": \n', []),
    ],
)
def test_lines_speak_for_themselves(path: str, text: str, found: list[tuple[str, int | None]]) -> None:
    assert rules(path, text) == found


def test_marks_inside_a_string_of_readable_code_are_no_conflict() -> None:
    assert rules("a.py", f'x = """\n{CONFLICT}"""\n', reads=True) == []


def test_what_was_broken_before_is_not_this_changes_fault() -> None:
    assert rules("a.json", '{"a": 1,\n "b": 3,}\n', '{"a": 1,\n "b": 2,}\n') == []


def test_a_settings_file_broken_by_a_deletion_is_told_of_the_nearest_changed_line() -> None:
    assert rules("a.json", '{"a": [1,\n"b"\n}\n', '{"a": [1,\n"b"]\n}\n') == [("syntax-error", 2)]
    assert rules("a.json", '{\n"a": [\n1\n}\n', '{\n"a": [\n1\n]\n}\n') == [("syntax-error", None)]


def test_the_old_conflict_of_an_untouched_part_is_left_alone() -> None:
    assert rules("a.txt", CONFLICT + "new\n", CONFLICT + "old\n") == []


def test_a_file_that_always_spoke_to_the_console_may_go_on() -> None:
    assert rules("a.js", "console.log(1)\nconsole.log(2)\n", "console.log(1)\n") == []


@pytest.mark.parametrize(
    ("path", "size", "large"),
    [
        ("a.csv", 1_100_000, True),
        ("a.csv", 900_000, False),
        ("yarn.lock", 3_000_000, False),
        ("a.min.js", 2_000_000, False),
    ],
)
def test_large_files_are_named_but_not_generated_ones(path: str, size: int, large: bool) -> None:
    assert (("large-file", None) in rules(path, ("1,2,3,4," * 125 + "\n") * (size // 1001))) is large


def test_a_large_binary_is_named_sooner() -> None:
    for size, large in ((600_000, True), (400_000, False)):
        file = scan_file(binary("logo.png"), b"\0" * size, lambda _: None)
        assert file is not None
        assert [remark.rule for remark in line_remarks(file, reads=False)] == ["large-file"] * large


def test_what_is_not_there_to_read_is_not_looked_at() -> None:
    assert scan_file(changed_file("a", "x\n", ""), None, lambda _: None) is None


@pytest.mark.parametrize(
    ("path", "line", "count"),
    [
        ("a.py", f'T = "{TOKEN}"', 1),
        ("tests/test_a.py", f'T = "{TOKEN}"', 1),
        ("a.py", f'T = "{TOKEN}"  # pragma: allowlist secret', 0),
        ("a.py", f'T = "{TOKEN}"  # burnish: allow-secret', 0),
        ("a.py", f'# pragma: allowlist nextline secret\nT = "{TOKEN}"', 0),
        ("a.py", f'H = "x{TOKEN}9"', 0),
        ("a.py", 'T = "gh' + "p_" + "x" * 36 + '"', 0),
        ("a.py", 'T = "AKI' + 'AIOSFODNN7EXAMPLE"', 0),
        ("a.py", 'password = "Tr0ub4dor-and-3"', 1),
        ("a.py", 'password = "correct horse"', 0),
        ("a.py", 'password = "<password>"', 0),
        ("a.py", 'password = os.environ["PASSWORD_2"]', 0),
        ("a.py", 'password_field = "Tr0ub4dor-and-3"', 0),
        ("tests/test_a.py", 'password = "Tr0ub4dor-and-3"', 1),
        ("README.md", 'password = "Tr0ub4dor-and-3"', 1),
        ("a.yaml", "password: Tr0ub4dor-and-3", 1),
        ("a.yaml", "password: ${PASSWORD_1}", 0),
        ("a.yaml", "secretName: db-credentials-1", 0),
        ("poetry.lock", 'password = "Tr0ub4dor-and-3"', 1),
        ("a.py", 'u = "https://user:Tr0ub4dor9@host/x"', 1),
        ("a.py", 'u = "https://host/x:y"', 0),
        ("a.py", 'k = "sk-' + 'proj-Ab3dEf6hIj9kLm2nOp5qRs8t"', 1),
        ("key.txt", "-----BEGIN RSA PRIVATE" + " KEY-----\nMIIEow1BAA\n-----END RSA PRIVATE KEY-----", 1),
        ("key.txt", "-----BEGIN RSA PRIVATE" + " KEY-----\nyour key\n-----END RSA PRIVATE KEY-----", 0),
        ("a.py", 'if "-----BEGIN PRIVATE KEY-----" in text:', 0),
    ],
)
def test_secrets_are_told_from_what_only_looks_like_one(path: str, line: str, count: int) -> None:
    assert len(list(secrets(looked(path, line + "\n")))) == count


def test_a_short_password_is_a_warning_and_a_long_random_one_an_error() -> None:
    (short,) = secrets(looked("a.py", 'password = "Tr0ub4dor"\n'))
    (long,) = secrets(looked("a.py", 'password = "k8Qz2Lx9Vt4Rm7Wp3Yc6"\n'))
    assert (short.severity, long.severity) == (Severity.WARNING, Severity.ERROR)


def test_a_secret_that_was_there_before_is_not_found_again() -> None:
    old = f'T = "{TOKEN}"\n'
    assert list(secrets(looked("a.py", old + "x = 1\n", old))) == []


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("path", ["a.py", "tests/test_a.py", "README.md", "a.min.js", "deploy.yaml"])
def test_every_secret_that_redaction_knows_is_a_finding(name: str, path: str) -> None:
    """A live Stripe key used to be masked and not reported."""
    text = f"first = 1\nvalue = '{KNOWN[name]}'\n"
    assert "[secret: " in NO_SECRETS.redact(text)
    found = list(secrets(looked(path, text)))
    assert found and found[0].line == 2 and all(secret.value in text for secret in found)


def test_tests_and_docs_show_passwords_without_being_rejected() -> None:
    line = 'password = "Tr0ub4dor-and-3"\n'
    severities = {
        path: [s.severity for s in secrets(looked(path, line))] for path in ("a.py", "README.md", "yarn.lock")
    }
    assert severities == {"a.py": [Severity.ERROR], "README.md": [Severity.INFO], "yarn.lock": [Severity.INFO]}


@pytest.mark.parametrize(
    "comment", ["burnish: allow-secret", "pragma: allowlist secret", "pragma: whitelist secret", "x"]
)
def test_the_commit_guard_and_the_reviewer_agree_on_what_is_allowed(comment: str) -> None:
    text = f'T = "{TOKEN}"  # {comment}\n'
    assert bool(NO_SECRETS.find_new(text)) == bool(list(secrets(looked("a.py", text)))) == (comment == "x")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["[" * 200_000, "- " * 100_000 + "x", "? " * 100_000 + "x", "{a: " * 60_000, "- [ # ]\n" + " [\n" * 80_000],
    ids=["sequences", "dashes", "keys", "mappings", "a bracket in a comment"],
)
def test_yaml_that_is_nested_deep_does_not_end_the_process(text: str) -> None:
    """A parser in C fails by a signal: in a process of its own."""
    code = "import sys\nfrom burnish.review.static.syntax import _yaml_flaws\n_yaml_flaws(sys.stdin.read())"
    done = subprocess.run([sys.executable, "-c", code], input=text.encode(), timeout=60, check=False)

    assert done.returncode == 0


@pytest.mark.slow
def test_a_long_yaml_file_is_parsed_in_a_fraction_of_a_second() -> None:
    rows = "".join(f"- id: page-{n}\n  title: 'Page {n}'\n  tags: [a, b]\n" for n in range(4000))
    before = time.process_time()
    assert rules("pages.yaml", rows) == []
    assert [line for _, line in rules("pages.yaml", f"{rows}- id: x\n  id: y\n")] == [12002]
    # a parser in Python takes six seconds
    assert time.process_time() - before < 3


def test_yaml_that_libyaml_refuses_is_judged_by_the_rules_of_yaml_1_2() -> None:
    assert rules("a.yaml", "%YAML 1.2\n---\na: 1\n") == []
    assert rules("a.yaml", "a: [1\nb: 2\n") != []


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_a_known_secret_in_the_middle_of_a_long_file_is_found_if_its_lines_are_changed(name: str) -> None:
    before = [f"x{n} = {n}" for n in range(200)]
    after = [*before[:100], *f"A = 1\n{KNOWN[name]}\n".splitlines(), *before[100:]]
    file = looked("a.py", "\n".join(after) + "\n", "\n".join(before) + "\n")
    whole = looked("a.py", "\n".join(after) + "\n", None)
    assert {secret.value for secret in secrets(file)} == {secret.value for secret in secrets(whole)} != set()


def test_a_private_key_is_found_though_only_a_line_far_from_its_beginning_is_changed() -> None:
    body = [f"{n:02d}MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKjM" for n in range(60)]
    kind = "PRIVATE KEY"
    text = "\n".join([f"-----BEGIN {kind}-----", *body, f"-----END {kind}-----"]) + "\n"
    assert [secret.line for secret in secrets(looked("key.pem", text, text.replace(f"{body[40]}\n", "")))] == [42]


def test_only_lines_near_the_change_are_searched_for_secrets() -> None:
    before = "".join(f"x{n} = {n}\n" for n in range(500))
    file = looked("a.py", before.replace("x250 = 250\n", "x250 = 251\n"), before)
    lines = _lines_to_search(file)
    assert len(lines) == len(file.lines) and sum(map(bool, lines)) == 2 * AROUND + 1
