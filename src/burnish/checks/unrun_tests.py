"""Finds tests that the usual test command of a project leaves out, and that no check runs: they are named."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from burnish.checks.tools import ProjectFolder, UnrunTests

# At most this many files are opened for each kind of tests.
_MAX_OPENED = 40
_INTEGRATION = re.compile(r"integration|e2e|acceptance|functional|smoke|system|live", re.I)
# Folders with test files that are data of tests or examples.
_SAMPLES = re.compile(
    r"(?:^|/)(?:examples?|samples?|[\w-]*fixtures?|testdata|data|templates?|resources?|docs?|benchmarks?|scripts?|tools?)/",
    re.I,
)
_INI_VALUE = r"^%s\s*=\s*(.*(?:\n[ \t]+\S.*)*)"
_DESELECTED_MARK = re.compile(r"""-m[ =]?\s*["'\\]*([^"'\\\n]*\bnot\s+\(?\w+[^"'\\\n]*)""")
_IGNORED_PATH = re.compile(r"--ignore[= ]([\w./-]+)")


def unrun_python_tests(place: ProjectFolder, table: Mapping[str, Any], tests: Sequence[str]) -> tuple[UnrunTests, ...]:
    """Tests outside of `testpaths`, those that `addopts` deselects, and features."""
    settings = _pytest_settings(place, table)
    return (
        *_outside_of_testpaths(place, settings.get("testpaths", ""), tests),
        *_deselected(settings.get("addopts", ""), tests),
        *_behave(place),
    )


def _pytest_settings(place: ProjectFolder, table: Mapping[str, Any]) -> dict[str, str]:
    """`testpaths` and `addopts` as text, from the first file that has settings of pytest."""
    options = _at(table, "tool", "pytest", "ini_options")
    if isinstance(options, dict):
        found = {name: options[name] for name in ("testpaths", "addopts") if name in options}
        return {
            name: " ".join(map(str, value)) if isinstance(value, list) else str(value) for name, value in found.items()
        }
    for name, section in (("pytest.ini", "pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        match = re.search(rf"^\[{section}\]$(.*?)(?=^\[|\Z)", place.read(name), re.M | re.S)
        if match:
            values = {key: re.search(_INI_VALUE % key, match[1], re.M) for key in ("testpaths", "addopts")}
            return {key: found[1] for key, found in values.items() if found}
    return {}


def settings_folder(place: ProjectFolder, tests: Sequence[str]) -> tuple[str, ...]:
    """The folder of all tests, if it has the only settings of pytest: pytest finds them only if it is named."""
    folders = {path.partition("/")[0] for path in tests}
    files = [path for path in place.paths if path.rpartition("/")[2] in ("pytest.ini", ".pytest.ini", "pytest.toml")]
    is_only_one = len(files) == 1 and {posixpath.dirname(files[0])} == folders
    return tuple(folders) if is_only_one else ()


def _outside_of_testpaths(place: ProjectFolder, testpaths: str, tests: Sequence[str]) -> Iterator[UnrunTests]:
    starts = [posixpath.normpath(re.split(r"[*?\[]", path, maxsplit=1)[0] or ".") for path in testpaths.split()]
    if not starts or "." in starts:
        return
    outside = [path for path in tests if not path.startswith(tuple(starts)) and not _SAMPLES.search(path)]
    for folder in dict.fromkeys(posixpath.dirname(path) for path in outside[:_MAX_OPENED]):
        paths = (path for path in outside[:_MAX_OPENED] if posixpath.dirname(path) == folder)
        if any(re.search(r"^\s*(?:async )?def test", place.read(path), re.M) for path in paths):
            name = folder or "the root"
            yield UnrunTests(f"pytest {folder or '.'}", folder or "pytest .", f"`testpaths` does not name {name}")


def _deselected(addopts: str, tests: Sequence[str]) -> Iterator[UnrunTests]:
    for expression in _DESELECTED_MARK.findall(addopts):
        marks = re.findall(r"\bnot\s+\(?(\w+)", expression)
        yield UnrunTests(
            f"pytest -m {marks[0]}", marks[0], f"`addopts` deselects these tests (-m '{expression.strip()}')"
        )
    for path in map(posixpath.normpath, _IGNORED_PATH.findall(addopts)):
        if any(test == path or test.startswith(f"{path}/") for test in tests) and not _SAMPLES.search(f"{path}/"):
            yield UnrunTests(f"pytest {path}", path, "`addopts` ignores this folder")


def _behave(place: ProjectFolder) -> Iterator[UnrunTests]:
    if any(re.match(r"(?:.*/)?features/steps/[^/]+\.py$", path) for path in place.paths):
        yield UnrunTests("behave", "behave", "features may need a browser or services")


def _at(table: object, *keys: str) -> object:
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table


# Tags that choose a platform or a toolchain, and files that no test needs.
_NO_TEST_TAG = re.compile(
    r"linux|darwin|windows|unix|\w*bsd|solaris|plan9|js|wasm|wasip1|android|ios|aix|illumos|amd64|arm64|arm|386|ppc\w*|mips\w*|s390x"
    r"|riscv64|loong64|cgo|race|msan|asan|gc|gccgo|purego|ignore|tools?|go1|appengine|boringcrypto|goexperiment"
)


def unrun_go_tests(place: ProjectFolder, command: str) -> tuple[UnrunTests, ...]:
    """Tests with a build tag that the command does not set."""
    files = sorted(
        (path for path in place.paths if path.endswith("_test.go")), key=lambda path: not _INTEGRATION.search(path)
    )
    tags: dict[str, None] = {}
    for path in files[:_MAX_OPENED]:
        match = re.search(r"^//\s*(?:go:build|\+build)\s+(.+)$", place.read(path)[:4000], re.M)
        words = re.findall(r"(?<![!\w.])\w+", match[1]) if match else []
        tags |= {word: None for word in words if not _NO_TEST_TAG.fullmatch(word) and not word.isdigit()}
    why = "tests with this build tag may need services"
    return tuple(
        UnrunTests(f"go test -tags {tag} ./...", tag, why)
        for tag in tags
        if not re.search(rf"-tags \S*\b{re.escape(tag)}\b", command)
    )


def unrun_rust_tests(place: ProjectFolder) -> tuple[UnrunTests, ...]:
    """Tests that only some features compile."""
    manifests = [path for path in place.paths if posixpath.basename(path) == "Cargo.toml"]
    texts = [place.read(path) for path in manifests[:_MAX_OPENED]]
    names = {name for text in texts for name in _optional_features(text)}
    sources = sorted(
        (path for path in place.paths if path.endswith(".rs")), key=lambda path: "tests/" not in f"/{path}"
    )
    conditions = set(re.findall(r"required-features\s*=\s*\[([^\]]*)\]", "\n".join(texts)))
    for path in sources[:_MAX_OPENED] if names else ():
        text = place.read(path)
        if "test" in text:
            conditions |= set(re.findall(r"cfg\((?!not)[^\n]*?feature\s*=\s*\"[^\"]+\"", text))
    needed_names = sorted(name for name in names if any(f'"{name}"' in text for text in conditions))
    if not needed_names:
        return ()
    why = f"code and tests of the features {', '.join(needed_names[:5])} are not compiled"
    return (UnrunTests("cargo test --all-features", "--all-features", why),)


def _optional_features(manifest: str) -> set[str]:
    match = re.search(r"^\[features\]$(.*?)(?=^\[|\Z)", manifest, re.M | re.S)
    lines = re.findall(r"^([\w-]+)\s*=\s*\[([^\]]*)\]", match[1], re.M) if match else []
    features = {name: set(re.findall(r'"([\w-]+)"', value)) for name, value in lines}
    enabled_names, pending = {"default"}, ["default"]
    while pending:
        for name in features.get(pending.pop(), ()):
            pending += [name] if name not in enabled_names else []
            enabled_names.add(name)
    return set(features) - enabled_names


def unrun_suites(place: ProjectFolder, files: Iterable[str]) -> tuple[UnrunTests, ...]:
    """Test suites of PHPUnit beside its default one."""
    text = "\n".join(place.read(name) for name in files)
    default = re.search(r"\bdefaultTestSuite=[\"']([^\"']+)", text)
    names = re.findall(r"<testsuite\s[^>]*\bname=[\"']([^\"']+)", text) if default else []
    others = [name for name in names if default and name not in default[1].split(",")]
    why = f"`defaultTestSuite` is {default[1]}" if default else ""
    return tuple(UnrunTests(f"phpunit --testsuite {name}", name, why) for name in others)
