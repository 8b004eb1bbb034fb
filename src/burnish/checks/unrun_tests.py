"""Finds tests that the usual test command of a project leaves out, and that no check runs: they are named."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from burnish.checks.command_line import parse_command
from burnish.checks.import_origins import runs_tests
from burnish.checks.tools import MAX_OPENED, ProjectFolder, UnrunTests
from burnish.core.policy import CheckSpec
from burnish.regular_files import parse_toml

# At most this many files are opened for each kind of tests.
_MAX_OPENED = 40
_INTEGRATION = re.compile(r"integration|e2e|acceptance|functional|smoke|system|live", re.I)
# Folders with test files that are data of tests or examples.
SAMPLES = re.compile(
    r"(?:^|/)(?:examples?|samples?|[\w-]*fixtures?|testdata|data|templates?|resources?|docs?|benchmarks?|scripts?|tools?)/",
    re.I,
)
_SWITCH = re.compile(r"""addoption\(\s*["'](--[\w-]+)["']([^()]*)""")
_SWITCHED_ON = re.compile(r"slow|integration|e2e|network|online|all|external|live|full|long|expensive|run", re.I)
COVERAGE_FILES = (".coveragerc", "pyproject.toml", "setup.cfg", "tox.ini")
_READ_KEYS = ("testpaths", "addopts", "norecursedirs")
_INI_VALUE = r"^%s\s*=\s*(.*(?:\n[ \t]+\S.*)*)"
_DESELECTED_MARK = re.compile(r"""-m[ =]?\s*["'\\]*([^"'\\\n]*\bnot\s+\(?\w+[^"'\\\n]*)""")
_DESELECTED_WORD = re.compile(r"""(?<!\S)-k[ =]?\s*["'\\]*([^"'\\\n]*\bnot\s+\(?\w+[^"'\\\n]*)""")
_IGNORED_PATH = re.compile(r"--ignore[= ]([\w./-]+)")
_DESELECTED_TEST = re.compile(r"--deselect[= ]([\w./-]+(?:::\S+)?)")


def unrun_python_tests(place: ProjectFolder, table: Mapping[str, Any], tests: Sequence[str]) -> tuple[UnrunTests, ...]:
    """Tests outside of `testpaths`, those that `addopts` deselects, and features."""
    settings = _pytest_settings(place, table)
    return (
        *_outside_of_testpaths(place, settings.get("testpaths", ""), tests),
        *_deselected(settings.get("addopts", ""), tests),
        *_not_collected(place, settings.get("norecursedirs", ""), tests),
        *_threshold(place, settings.get("addopts", "")),
        *_behave(place),
        *_optional(place),
        *_loaded_by_unittest(place, tests),
    )


def _pytest_settings(place: ProjectFolder, table: Mapping[str, Any]) -> dict[str, str]:
    """`testpaths`, `addopts` and `norecursedirs` as text, from the first file that has settings of pytest."""
    options = _at(table, "tool", "pytest", "ini_options") or _at(table, "tool", "pytest")
    own_file = place.first("pytest.toml", ".pytest.toml")
    if own_file:
        options = _at(_toml(place.read(own_file)), "pytest")
    if isinstance(options, dict) and (own_file or not place.first("pytest.ini", ".pytest.ini")):
        found = {name: options[name] for name in _READ_KEYS if name in options}
        return {
            name: " ".join(map(str, value)) if isinstance(value, list) else str(value) for name, value in found.items()
        }
    sections = (
        ("pytest.ini", "pytest"),
        (".pytest.ini", "pytest"),
        ("tox.ini", "pytest"),
        ("setup.cfg", "tool:pytest"),
    )
    for name, section in sections:
        match = re.search(rf"^\[{section}\]$(.*?)(?=^\[|\Z)", place.read(name), re.M | re.S)
        if match:
            values = {key: re.search(_INI_VALUE % key, match[1], re.M) for key in _READ_KEYS}
            return {key: found[1] for key, found in values.items() if found}
    return {}


def _toml(text: str) -> object:
    try:
        return parse_toml(text)
    except (ValueError, RecursionError):
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
    outside = [path for path in tests if not path.startswith(tuple(starts)) and not SAMPLES.search(path)]
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
    for expression in _DESELECTED_WORD.findall(addopts):
        words = re.findall(r"\bnot\s+\(?(\w+)", expression)
        why = f"`addopts` deselects these tests (-k '{expression.strip()}')"
        yield UnrunTests(f"pytest -k {words[0]}", words[0], why)
    for test in _DESELECTED_TEST.findall(addopts):
        yield UnrunTests(f"pytest {test}", test, "`addopts` deselects it")
    for path in map(posixpath.normpath, _IGNORED_PATH.findall(addopts)):
        if any(test == path or test.startswith(f"{path}/") for test in tests) and not SAMPLES.search(f"{path}/"):
            yield UnrunTests(f"pytest {path}", path, "`addopts` ignores this folder")


def _not_collected(place: ProjectFolder, folders: str, tests: Sequence[str]) -> Iterator[UnrunTests]:
    """Tests in folders that `norecursedirs` names, and files that a conftest.py leaves out."""
    own_tests = [path for path in tests if not SAMPLES.search(path)]
    for name in folders.split():
        paths = [path for path in own_tests if re.search(rf"(?:^|/){re.escape(name.strip('*/'))}/", path)]
        if name.strip("*/.") and paths:
            folder = posixpath.dirname(paths[0])
            yield UnrunTests(f"pytest {folder}", folder, f"`norecursedirs` leaves {name} out")
    for path in [path for path in place.paths if posixpath.basename(path) == "conftest.py"][:_MAX_OPENED]:
        for names in re.findall(r"^collect_ignore(?:_glob)?\s*=\s*\[([^\]]*)\]", place.read(path), re.M):
            for name in re.findall(r"[\"']([^\"']+)[\"']", names):
                one = posixpath.join(posixpath.dirname(path), name)
                if any(fnmatch.fnmatchcase(test, one) or test.startswith(f"{one}/") for test in own_tests):
                    yield UnrunTests(f"pytest {one}", one, f"{path} leaves it out")


def _threshold(place: ProjectFolder, addopts: str) -> Iterator[UnrunTests]:
    """A coverage that the settings demand; pytest-cov compares it, if `addopts` starts it."""
    files = [name for name in COVERAGE_FILES if re.search(r"^\s*fail_under\s*=", place.read(name), re.M)]
    if files and "--cov" not in addopts:
        why = f"`fail_under` in {files[0]} demands a coverage, which checks do not measure"
        yield UnrunTests("coverage report", "coverage report", why)


def _optional(place: ProjectFolder) -> Iterator[UnrunTests]:
    """Options of a conftest.py that switch tests on."""
    files = [path for path in place.paths if posixpath.basename(path) == "conftest.py"]
    for path in files[:_MAX_OPENED]:
        for option, rest in _SWITCH.findall(place.read(path)):
            if _SWITCHED_ON.search(option) and "store_true" in rest:
                yield UnrunTests(f"pytest {option}", option, f"{path} defines this option, and checks do not use it")


def _loaded_by_unittest(place: ProjectFolder, tests: Sequence[str]) -> Iterator[UnrunTests]:
    texts = {path: place.read(path) for path in tests[:MAX_OPENED]}
    for path, text in texts.items():
        if re.search(r"^def load_tests\(", text, re.M) and "DocTestSuite" in text:
            module = path.removesuffix(".py").replace("/", ".")
            yield UnrunTests(f"python -m unittest {module}", "unittest", "pytest does not call its load_tests")


def _behave(place: ProjectFolder) -> Iterator[UnrunTests]:
    if robot := [path for path in place.paths if path.endswith(".robot") and not SAMPLES.search(path)]:
        folder = posixpath.dirname(robot[0]) or "."
        yield UnrunTests(f"robot {folder}", "robot", "tests of Robot Framework may need a browser or services")
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


def unrun_rust_targets(place: ProjectFolder) -> tuple[UnrunTests, ...]:
    """Tests in examples, and targets with `test = false`: `cargo test` compiles or skips them."""
    examples = [path for path in place.paths if re.fullmatch(r"(?:.*/)?examples/(?:[^/]+/)?[^/]+\.rs", path)]
    found = []
    if any("#[test]" in place.read(path) for path in examples[:_MAX_OPENED]):
        found.append(UnrunTests("cargo test --examples", "--examples", "`cargo test` does not run tests in examples"))
    for table, rest in re.findall(r"^\[\[?(test|lib|bin)\]\]?$([^\[]*)", place.read("Cargo.toml"), re.M):
        name = re.search(r"^name\s*=\s*\"([^\"]+)\"", rest, re.M)
        option = f"--{table}" + (f" {name[1]}" if name and table != "lib" else "")
        if re.search(r"^test\s*=\s*false", rest, re.M):
            found.append(UnrunTests(f"cargo test {option}", option, "Cargo.toml sets `test = false`"))
    return tuple(found)


def unrun_cmake_tests(place: ProjectFolder) -> tuple[UnrunTests, ...]:
    """Configurations of presets, and tests of another build type."""
    found = []
    if "CMakePresets.json" in place.names and "cacheVariables" in place.read("CMakePresets.json"):
        found.append(UnrunTests("cmake --preset", "--preset", "checks do not use the settings of CMakePresets.json"))
    files = [path for path in place.paths if posixpath.basename(path) == "CMakeLists.txt"]
    types = {
        name
        for path in files[:_MAX_OPENED]
        for names in re.findall(r"add_test\s*\([^()]*\bCONFIGURATIONS\s+([\w\s]+)", place.read(path))
        for name in names.split()
        if name[:1].isupper() and not name.isupper()
    }
    found += [
        UnrunTests(f"ctest -C {name}", f"-C {name}", "these tests have this configuration") for name in sorted(types)
    ]
    return tuple(found)


def unrun_meson_tests(texts: Iterable[str]) -> tuple[UnrunTests, ...]:
    """Suites that the usual set-up of tests leaves out."""
    setups = [one for text in texts for one in re.findall(r"add_test_setup\s*\(((?:[^()]|\([^()]*\))*)\)", text)]
    usual = next((one for one in setups if re.search(r"is_default\s*:\s*true", one)), "")
    suites = re.search(r"exclude_suites\s*:\s*\[?([^\]\)]*)", usual)
    names = re.findall(r"'([^']+)'", suites[1].partition("is_default")[0]) if suites else []
    why = "the usual set-up of the tests leaves this suite out"
    return tuple(UnrunTests(f"meson test --suite {name}", f"--suite {name}", why) for name in names)


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


# -- configured checks -----------------------------------------------------------------------------
# Tests that the checks of a user leave out: other parts of the repository, and folders that none names.

_PYTHON_TEST = re.compile(r"(?:.*/)?(?:test_[^/]*|[^/]*_test)\.py")
# Programs that run the tests of one language; others may start anything.
_LANGUAGE_RUNNERS = frozenset(
    ("pytest", "py.test", "unittest", "go", "cargo", "jest", "vitest", "mocha", "node", "mvn", "gradle")
)
_MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class _TestCall:
    """Where a check runs, and what it starts; `runner` is "" for a command that may start anything."""

    words: str
    folder: str
    runner: str
    arguments: tuple[str, ...]

    @classmethod
    def of(cls, spec: CheckSpec) -> _TestCall:
        line = parse_command(spec.command, None)
        folder = posixpath.normpath(posixpath.join(spec.cwd, line.folder if line else "."))
        runner = line.name.replace("py.test", "pytest") if line and line.name in _LANGUAGE_RUNNERS else ""
        return cls(spec.words, folder, runner, line.arguments if line else ())

    def reaches(self, other: _TestCall) -> bool:
        """True if it may run the tests of the other one."""
        if self.folder == other.folder or _names(self.words, other.folder):
            return True
        is_above = self.folder == "." or other.folder.startswith(f"{self.folder}/")
        return is_above and self.runner in ("", other.runner)


def python_test_files(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(path for path in paths if _PYTHON_TEST.fullmatch(path) and not SAMPLES.search(path))


def unselected_tests(
    found: Sequence[CheckSpec], specs: Sequence[CheckSpec], python_tests: Sequence[str]
) -> Iterator[tuple[str, UnrunTests]]:
    """Tests that `found` would run and that `specs` leave out, each with its folder; none without a test check."""
    places = [_TestCall.of(spec) for spec in specs if runs_tests(spec)]
    tests = [spec for spec in found if runs_tests(spec)]
    if not places:
        return
    for spec in tests:
        own = _TestCall.of(spec)
        # which files of pytest are left out is a question of its own
        is_same = own.runner == "pytest" and any(place.runner == "pytest" for place in places)
        if not is_same and not any(place.reaches(own) for place in places):
            command = spec.words.removeprefix(f"cd {spec.cwd} && ")
            yield spec.cwd, UnrunTests(command, "\0", "no check runs the tests of this part")
    if any(_TestCall.of(spec).runner == "pytest" for spec in tests):
        yield from (("", one) for one in _outside(places, python_tests))


def _outside(places: Sequence[_TestCall], python_tests: Sequence[str]) -> list[UnrunTests]:
    """Folders of tests beside those that the commands of pytest name."""
    if any(place.runner in ("", "unittest") for place in places):
        return []
    starts = [start for place in places if place.runner == "pytest" for start in _selected(place, python_tests)]
    outside = [path for path in python_tests if not any(_is_below(path, start) for start in starts)]
    folders = dict.fromkeys(posixpath.dirname(path) for path in outside) if starts else {}
    why = "no check names these tests"
    return [UnrunTests(f"pytest {folder or '.'}", "\0", why) for folder in list(folders)[:_MAX_NAMED]]


def _selected(place: _TestCall, python_tests: Sequence[str]) -> list[str]:
    """The folders and files that a command of pytest names; its own folder if there are none."""
    words = [word.partition("::")[0] for word in place.arguments if not word.startswith("-")]
    paths = [posixpath.normpath(posixpath.join(place.folder, word)) for word in words]
    # values of options name no tests
    return [path for path in paths if any(_is_below(test, path) for test in python_tests)] or [place.folder]


def _is_below(path: str, start: str) -> bool:
    return start == "." or path == start or path.startswith(f"{start}/")


def _names(words: str, folder: str) -> bool:
    return folder != "." and re.search(rf"(?<![\w.-]){re.escape(folder)}(?![\w.-])", words) is not None
