"""Counts the tests, assertions and skips in a text, by patterns per language."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

# Per language (by file extension): a test, with its name in the last group that matched.
_TESTS: dict[str, re.Pattern[str]] = {
    "py": re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(test\w*)[ \t]*[(\[]", re.M),
    "js": re.compile(r"(?<![\w.])[xf]?(?:it|test|specify)(?:\.\w+)*(?:\([^()\n]*\)|`[^`]*`)?\s*\(\s*(['\"`])(.+?)\1"),
    "go": re.compile(r"^func[ \t]+((?:Test|Benchmark|Fuzz|Example)\w*)[ \t]*\(", re.M),
    "rs": re.compile(
        r"#\[(?:\w+::)*(?:test|rstest|test_case|quickcheck)\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*|//[^\n]*\n\s*)*"
        r"(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?fn\s+(\w+)"
    ),
    "java": re.compile(
        r"@(?:Test|ParameterizedTest|RepeatedTest|TestFactory|Property)\b[^{;]*?\b(?:void|fun|def)\s+(`[^`]+`|\w+)\s*\("
    ),
    "cs": re.compile(r"\[(?:Fact|Theory|Test|TestMethod|TestCase|DataTestMethod)\b[^{;]*?\b(\w+)\s*\([^()]*\)\s*[{=]"),
    "rb": re.compile(
        r"^[ \t]*(?:x?it|x?specify|x?scenario|test)[ \t(]+(['\"])(.+?)\1|^[ \t]*def[ \t]+(test_\w+)", re.M
    ),
    "php": re.compile(r"\bfunction\s+(test\w+)\s*\(|(?<!\w)(?:it|test)\(\s*(['\"])(.+?)\2"),
    "swift": re.compile(r"\bfunc\s+(test\w+)\s*\(|@Test\b[^{;]*?\bfunc\s+(\w+)"),
    "ex": re.compile(r"^[ \t]*(?:test|property)[ \t]+\"(.+?)\"", re.M),
    # also the calls that make a function a test: Unity, cmocka, check, CUnit, and `test_add();` in `main`
    "c": re.compile(
        r"^[ \t]*(?:TYPED_)?TEST(?:_F|_P|_CASE)?\s*\(\s*(\"[^\"]*\"|\w+(?:\s*,\s*\w+)?)"
        r"|\b(?:RUN_TEST|run_test|mu_run_test|cmocka_unit_test)\s*\(\s*(\w+)"
        r"|\b(?:tcase_add_test|CU_add_test)\s*\([^;()]*,\s*(\w+)\s*\)|^[ \t]*(test_\w+)\s*\(\s*\)\s*;",
        re.M,
    ),
    "bats": re.compile(r"^[ \t]*@test[ \t]+(['\"])(.+?)\1", re.M),
}
_LIKE = {
    **dict.fromkeys(("jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "vue", "svelte", "dart"), "js"),
    **dict.fromkeys(("kt", "kts", "scala", "groovy"), "java"),
    **dict.fromkeys(("cc", "cpp", "cxx", "h", "hpp", "m"), "c"),
    "pyi": "py", "exs": "ex", "fs": "cs",
}  # fmt: skip

_ASSERTION = re.compile(
    r"\bassert\w*"
    r"|\bAssert\.\w+"
    r"|\b(?:XCTAssert|EXPECT_|ASSERT_|CHECK_|REQUIRE_|expect_|must_|check_|verify_)\w+"
    r"|\b(?:expect|verify|CHECK|REQUIRE|refute\w*)\s*\("
    r"|\b(?:expect|check|verify)[A-Z]\w*\s*\("
    r"|\bexpect[ \t]+\w|\.should\b"
    r"|\brequire\.\w+\(|\bis\.(?:Equal|True|NoErr)\("
    r"|\bpytest\.(?:raises|warns|fail)\b|\bself\.fail\("
    r"|\b[tb]\.(?:Error|Fatal)f?\(|\b[tb]\.Fail(?:Now)?\("
)
# Assertions that cannot fail.
_EMPTY = re.compile(
    r"\bassert[ (]+(?:True|1|not False|1 == 1|true|\"[^\"]*\"|'[^']*')\)?\s*(?:,.*)?;?\s*$"
    r"|\bassert\b.*\bor (?:True|1)\b"
    r"|\bexpect\((true|1|false)\)\.(?:toBe|toEqual|toStrictEqual|to\.(?:be|equal|eql|eq))\(\1\)"
    r"|\bexpect\(true\)\.(?:toBeTruthy\(\)|to\.be\.(?:true|ok)\b)"
    r"|\.catch\(\s*\(?\w*\)?\s*=>\s*\{\s*\}\s*\)"
    r"|\bassert!\(true\b|\bassert[\w.]*\((?:True|true)\)|\bassert[\w.]*\((\w+), ?\2\)"
)
_SKIP = re.compile(
    r"\bpytest\.mark\.(?:skip|skipif|xfail)\b|\bpytest\.(?:skip|xfail|importorskip)\("
    r"|@(?:unittest\.)?(?:skip|skipIf|skipUnless|expectedFailure)\b"
    r"|\bself\.skipTest\(|\braise (?:unittest\.)?SkipTest\b|\b__test__\s*=\s*False"
    r"|\b(?:it|test|describe|context|suite|specify)(?:\.\w+)*\.(?:skip|skipIf|runIf|only|todo|fails|failing|fixme)\b"
    r"|[{,]\s*(?:skip|todo):\s*(?:true\b|['\"`])|\blocal\s+\$TODO\b|\btodo_skip\b|\bskip_all\s*=>"
    r"|(?<![\w.])(?:x(?:it|test|describe|context|specify|scenario)|f(?:it|describe|context))[ \t(]+['\"`(]"
    r"|\b[tb]\.Skip(?:f|Now)?\(|//go:build ignore"
    r"|#\[ignore\b|@(?:Disabled|Ignore)\b|\[Ignore\b|\[(?:Fact|Theory)\([^)]*\bSkip\s*="
    r"|\bmarkTest(?:Skipped|Incomplete)\(|\bXCTSkip\w*|\bGTEST_SKIP\b|@tag\s+:skip"
    r"|^[ \t]*pending\b[ \t]*(?:['\"(]|$)"
)
# One test or assertion in the text, many when it runs.
_MULTIPLIER = re.compile(
    r"\bparametrize\b|\bparameterized\b|\.each\b|\bsubTest\b|\b[tb]\.Run\(|\bfor\b|\.forEach\b|\bforall\b|@given\b"
    r"|#\[case|#\[rstest|#\[test_case|\bproptest!|@ParameterizedTest|@MethodSource|@dataProvider"
    r"|\[Theory|\[InlineData|\[TestCase|\bTEST_P\b"
)
# Each match of the pattern contains one of these; lines without them are not searched, which saves time.
_ASSERTION_HINTS = (
    "ssert", "ASSERT", "EXPECT_", "CHECK", "REQUIRE", "expect", "must_", "check", "verify", "refute", ".should",
    "require.", "is.", "pytest.", "self.fail", ".Error", ".Fa",
)  # fmt: skip
_SKIP_HINTS = (
    "skip", "Skip", "SKIP", "xfail", "expectedFailure", "__test__", ".only", "todo:", "TODO", "todo_skip", ".todo",
    ".fails", ".failing", ".fixme", "xit",
    "xtest", "xdescribe", "xcontext", "xspecify", "xscenario", "fit", "fdescribe", "fcontext", "//go:build", "gnore",
    "@Disabled", "markTest", "pending", ".runIf",
)  # fmt: skip
_MULTIPLIER_HINTS = (
    "parametrize", "parameterized", ".each", "subTest", ".Run(", "for", "@given", "#[", "proptest!", "@Parameterized",
    "@MethodSource", "@dataProvider", "[Theory", "[InlineData", "[TestCase", "TEST_P",
)  # fmt: skip
_COMMENT = re.compile(r"^\s*(?:#(?!\[)|//(?!go:build)|\*|/\*|--\s|;)")
_IMPORT = re.compile(r"^\s*(?:import|from|use|using|require|include|#include|export)\b|=\s*require\(")


@dataclass(frozen=True, slots=True)
class TestCounts:
    """The tests, assertions and skips of a file."""

    __test__ = False

    names: Counter[str] = field(default_factory=Counter)
    assertions: int = 0
    skips: Counter[str] = field(default_factory=Counter)
    multipliers: int = 0

    def __bool__(self) -> bool:
        return bool(self.names or self.assertions)


_PYTHON_DEFINITION = re.compile(r"^(?:async[ \t]+def|def|class)[ \t]+(\w+)", re.M)
_OF_PYTHON_TESTS = re.compile(r"_|[tT]est|\w*Tests?(?:Case)?$|(?:set_?[uU]p|tear_?[dD]own)\w*$")
_PYTHON_FRAMEWORK = re.compile(r"^(?:import|from)[ \t]+(?:pytest|unittest|django\.test|hypothesis)\b", re.M)
_JAVASCRIPT_FRAMEWORK = re.compile(
    r"""(?:\bfrom|\brequire\(|^import)\s*['"](?:node:test|vitest|mocha|@jest/globals|ava|tape|tap|uvu|bun:test|@playwright/test)['"]""",
    re.M,
)


def holds_tests(path: str, text: str) -> bool:
    """True for a source of Python or JavaScript that holds tests alone, although its name may not tell that."""
    if not test_names(path, text):
        return False
    if path.endswith(".py"):
        is_named = _PYTHON_FRAMEWORK.search(text) or all(map(_OF_PYTHON_TESTS.match, _PYTHON_DEFINITION.findall(text)))
        return "assert" in text and bool(is_named)
    return _JAVASCRIPT_FRAMEWORK.search(text) is not None


def has_inline_tests(path: str, text: str | None) -> bool:
    """True for Rust files with unit tests beside the code."""
    return path.endswith(".rs") and text is not None and ("#[cfg(test)]" in text or "#[test]" in text)


def testing_in(path: str, text: str | None, *, assertions: bool = True) -> TestCounts:
    """`assertions=False` skips counting assertions, which takes the longest."""
    if text is None:
        return TestCounts()
    lines = [line for line in re.split(r"\r\n?|\n", text) if not _COMMENT.match(line)]
    # JavaScript ends a comment at U+2028, Python does not: text after it may be a skip, but never counts as assertion.
    pieces = [piece for piece in text.splitlines() if not _COMMENT.match(piece)]
    code = "\n".join(lines)
    if not assertions:
        return TestCounts(names=Counter(test_names(path, code)), skips=_skips(pieces))
    plain = [line for line in lines if not _IMPORT.match(line)]
    return TestCounts(
        names=Counter(test_names(path, code)),
        assertions=sum(_asserting(line) for line in _with_hint(plain, _ASSERTION_HINTS)),
        skips=_skips(pieces),
        multipliers=sum(len(_MULTIPLIER.findall(line)) for line in _with_hint(plain, _MULTIPLIER_HINTS)),
    )


def _skips(lines: Sequence[str]) -> Counter[str]:
    return Counter(squeeze(line) for line in _with_hint(lines, _SKIP_HINTS) if _SKIP.search(line))


def _with_hint(lines: Sequence[str], hints: Sequence[str]) -> list[str]:
    """The lines with one of the hints. Searches the whole text, which is faster than each line."""
    text = "\n".join(lines)
    spans: set[tuple[int, int]] = set()
    for hint in hints:
        at = text.find(hint)
        while at >= 0:
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            spans.add((text.rfind("\n", 0, at) + 1, end))
            at = text.find(hint, end)
    return [text[start:end] for start, end in sorted(spans)]


def test_names(path: str, code: str) -> list[str]:
    ending = path.rpartition(".")[2]
    pattern = _TESTS.get(_LIKE.get(ending, ending))
    if pattern is None:
        return []
    return [next(group for group in reversed(found.groups()) if group) for found in pattern.finditer(code)]


test_names.__test__ = False  # type: ignore[attr-defined]


def is_skip(line: str) -> bool:
    return not _COMMENT.match(line) and _SKIP.search(line) is not None


def asserts_nothing(line: str) -> bool:
    """True for an assertion that cannot fail."""
    return not _COMMENT.match(line) and _EMPTY.search(line) is not None


def squeeze(line: str) -> str:
    return " ".join(line.split())


def _asserting(line: str) -> int:
    line = re.sub(r"\s(?:#|//)\s.*", "", line)
    if _EMPTY.search(line):
        return 0
    # The definition of a helper is not an assertion; its body is counted.
    line = re.sub(r"\b(?:def|func|function|fn|fun|void)\s+\w+", "", line)
    return len(_ASSERTION.findall(line))
