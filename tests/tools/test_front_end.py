"""`tools.front_end`: the front end passes, and each kind of problem is found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools.front_end import (
    class_problems,
    import_problems,
    long_lines,
    problems,
    style_problems,
    syntax_problems,
    template_problems,
)


def test_the_front_end_has_no_problems() -> None:
    assert [str(problem) for problem in problems()] == []


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("a { padding: 3px 0; }", "padding: 3px is not a token"),
        ("a { font: 600 .8rem/1.2 var(--sans); }", "font: .8rem is not a token"),
        ("a { border-radius: 50% 2px; }", "border-radius: 2px is not a token"),
        ("a { gap: calc(var(--space-1) + 10px); }", "gap: 10px is not a token"),
        ("a { box-shadow: 0 0 1px rgb(0 0 0 / 10%); }", "box-shadow: rgb is not a token"),
        ("@media print {\n  a { color: #fff; }\n}", "color: #fff is not a token"),
        ("a { color: red; ", "1 opening braces, 0 closing ones"),
    ],
)
def test_css_uses_tokens(rule: str, message: str) -> None:
    assert [problem.message for problem in style_problems("a.css", rule)] == [message]


def test_tokens_and_zero_are_fine() -> None:
    rules = ":root { --space-1: 2px; --ink: #222; }\na { padding: 0 var(--space-1); border-radius: 50%; width: 3px; }"
    assert not list(style_problems("a.css", f"/* padding: 3px */\n{rules}"))


def test_classes_of_templates_must_be_known() -> None:
    page = "<p class=\"known tone-{{ x }} {{ 'styled' if y == 'no' else 'lost' }}{% if z == 'a' %} hook{% endif %}\">"
    found = class_problems({"a.j2": page}, {"a.css": ".known, .tone-bad, .styled { gap: 0 }"}, {"a.js": '(".hook")'})
    assert [problem.message for problem in found] == ["no rule or script uses the class 'lost'"]


def test_a_template_that_does_not_compile_is_found() -> None:
    (problem,) = template_problems({"a.j2": "\n{% if x %}"})
    assert (problem.file, problem.line) == ("a.j2", 2)


def test_import_cycles_and_missing_exports_are_found() -> None:
    modules = {
        "a.js": 'import { b } from "./b.js";\nexport const a = 1;\n',
        "b.js": 'import { a, lost } from "./a.js";\nexport function b() {}\n',
    }
    found = [problem.message for problem in import_problems(modules)]
    assert found == ["a.js does not export lost", "import cycle: a.js → b.js → a.js"]


def test_long_lines_are_found() -> None:
    assert [problem.line for problem in long_lines("a.css", f"a\n{'b' * 141}\n")] == [2]


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
def test_javascript_that_does_not_parse_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text('import "./b.js";\nconst = 1;\n')
    (tmp_path / "b.js").write_text("export const b = await 1;\n")
    (problem,) = syntax_problems(tmp_path)
    assert problem.file == "a.js" and "SyntaxError" in problem.message
