"""Finds tests that the usual test command of a project leaves out, and that no check runs: they are named."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
        *_deselected(place, settings.get("addopts", ""), tests),
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
        paths = [path for path in outside[:_MAX_OPENED] if posixpath.dirname(path) == folder]
        if any(re.search(r"^\s*(?:async )?def test", place.read(path), re.M) for path in paths):
            name = folder or "the root"
            why = f"`testpaths` does not name {name}"
            yield UnrunTests(f"pytest {folder or '.'}", folder or "pytest .", why, tuple(paths))


def _deselected(place: ProjectFolder, addopts: str, tests: Sequence[str]) -> Iterator[UnrunTests]:
    for expression in _DESELECTED_MARK.findall(addopts):
        marks = re.findall(r"\bnot\s+\(?(\w+)", expression)
        why = f"`addopts` deselects these tests (-m '{expression.strip()}')"
        is_marked = re.compile(rf"\bmark\.(?:{'|'.join(marks)})\b")
        with_mark = [path for path in tests[:_MAX_OPENED] if is_marked.search(place.read(path))]
        files = tuple(path for path in with_mark if _is_all_marked(place.read(path), is_marked))
        partly = tuple(path for path in with_mark if path not in files)
        yield UnrunTests(f"pytest -m {marks[0]}", marks[0], why, files, partly)
    for expression in _DESELECTED_WORD.findall(addopts):
        words = re.findall(r"\bnot\s+\(?(\w+)", expression)
        why = f"`addopts` deselects these tests (-k '{expression.strip()}')"
        definition = re.compile(rf"^\s*(?:async )?(?:def|class) \w*(?:{'|'.join(words)})", re.M | re.I)
        partly = tuple(path for path in tests[:_MAX_OPENED] if definition.search(place.read(path)))
        yield UnrunTests(f"pytest -k {words[0]}", words[0], why, partly=partly)
    for test in _DESELECTED_TEST.findall(addopts):
        files = (test,) if test in tests else ()
        partly = tuple(path for path in tests if test.startswith(f"{path}::"))
        yield UnrunTests(f"pytest {test}", test, "`addopts` deselects it", files, partly)
    for path in map(posixpath.normpath, _IGNORED_PATH.findall(addopts)):
        files = tuple(test for test in tests if _is_below(test, path))
        if files and not SAMPLES.search(f"{path}/"):
            yield UnrunTests(f"pytest {path}", path, "`addopts` ignores this folder", files)


def _is_all_marked(text: str, mark: re.Pattern[str]) -> bool:
    """True if the marks may concern all tests of a file: one for the module or a class, or as many as tests."""
    tests = re.findall(r"^\s*(?:async )?def test", text, re.M)
    if re.search(r"^pytestmark\b", text, re.M):
        return mark.search(text) is not None
    return bool(tests) and len(mark.findall(text)) >= len(tests)


def _not_collected(place: ProjectFolder, folders: str, tests: Sequence[str]) -> Iterator[UnrunTests]:
    """Tests in folders that `norecursedirs` names, and files that a conftest.py leaves out."""
    own_tests = [path for path in tests if not SAMPLES.search(path)]
    for name in folders.split():
        paths = [path for path in own_tests if re.search(rf"(?:^|/){re.escape(name.strip('*/'))}/", path)]
        if name.strip("*/.") and paths:
            folder = posixpath.dirname(paths[0])
            yield UnrunTests(f"pytest {folder}", folder, f"`norecursedirs` leaves {name} out", tuple(paths))
    for path in [path for path in place.paths if posixpath.basename(path) == "conftest.py"][:_MAX_OPENED]:
        for names in re.findall(r"^collect_ignore(?:_glob)?\s*=\s*\[([^\]]*)\]", place.read(path), re.M):
            for name in re.findall(r"[\"']([^\"']+)[\"']", names):
                one = posixpath.join(posixpath.dirname(path), name)
                files = [test for test in own_tests if fnmatch.fnmatchcase(test, one) or test.startswith(f"{one}/")]
                if files:
                    yield UnrunTests(f"pytest {one}", one, f"{path} leaves it out", tuple(files))


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
            why = "pytest does not call its load_tests"
            yield UnrunTests(f"python -m unittest {module}", "unittest", why, (path,))


def _behave(place: ProjectFolder) -> Iterator[UnrunTests]:
    if robot := [path for path in place.paths if path.endswith(".robot") and not SAMPLES.search(path)]:
        folder = posixpath.dirname(robot[0]) or "."
        why = "tests of Robot Framework may need a browser or services"
        yield UnrunTests(f"robot {folder}", "robot", why, tuple(robot))
    if steps := [path for path in place.paths if re.match(r"(?:.*/)?features/steps/[^/]+\.py$", path)]:
        yield UnrunTests("behave", "behave", "features may need a browser or services", tuple(steps))


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
    tags: dict[str, list[str]] = {}
    for path in files[:_MAX_OPENED]:
        match = re.search(r"^//\s*(?:go:build|\+build)\s+(.+)$", place.read(path)[:4000], re.M)
        words = re.findall(r"(?<![!\w.])\w+", match[1]) if match else []
        for word in words:
            if not _NO_TEST_TAG.fullmatch(word) and not word.isdigit():
                tags.setdefault(word, []).append(path)
    why = "tests with this build tag may need services"
    return tuple(
        UnrunTests(f"go test -tags {tag} ./...", tag, why, tuple(paths))
        for tag, paths in tags.items()
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
# Options by which a runner selects or deselects tests; in most of them the value may follow as a word of its own.
_WITHOUT_VALUE = frozenset(("--lib", "--bins", "--doc", "--tests", "--examples"))
_DESELECTING = {
    "pytest": r"-[km]|--deselect",
    "unittest": r"-k",
    "go": r"--?(?:run|skip)\b",
    "cargo": r"--(?:lib|bins?|doc|tests?|examples?|package|exclude)\b|-p\b",
    "jest": r"-t\b|--(?:testNamePattern|testPathPatterns?|selectProjects)\b",
    "vitest": r"-t\b|--(?:testNamePattern|project|exclude)\b",
    "mocha": r"-[gf]\b|--f?grep\b",
    "node": r"--test-(?:name|skip)-pattern\b",
    "mvn": r"-Dtest=|-pl\b",
    "gradle": r"--tests\b",
}
_PYTHON_RUNNERS = ("pytest", "unittest")
_MAX_NAMED = 5
_MAX_FILES = 200


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


def files_of(unrun: Iterable[tuple[str, UnrunTests]]) -> tuple[tuple[str, str], ...]:
    """The files of tests that no check runs, from the root, each with what would run it and why nothing does."""
    return tuple(
        (posixpath.join(folder, file), one.words(folder)) for folder, one in unrun for file in one.files[:_MAX_FILES]
    )


def partly_unrun_files(unrun: Iterable[tuple[str, UnrunTests]]) -> tuple[tuple[str, str], ...]:
    """The same for files of which some tests are run."""
    return files_of((folder, replace(one, files=one.partly)) for folder, one in unrun)


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
    if any(_TestCall.of(spec).runner in _PYTHON_RUNNERS for spec in tests):
        yield from (("", one) for one in _outside(places, python_tests))
    yield from (("", one) for one in _left_out(places, {spec.words for spec in tests}))


def _left_out(places: Sequence[_TestCall], found: Collection[str]) -> Iterator[UnrunTests]:
    """The tests that the only command of a runner leaves out by an option such as `-k`; several may share them."""
    for runner in sorted({place.runner for place in places}):
        own = [place for place in places if place.runner == runner]
        if len(own) == 1 and own[0].words not in found and (option := _deselection(own[0])):
            yield UnrunTests(runner, "\0", f"`{option}` of the check may leave tests out")


def _deselection(place: _TestCall) -> str:
    """The option by which a command selects or deselects tests; "" if it has none."""
    pattern = _DESELECTING.get(place.runner)
    words = iter(place.arguments)
    for word in words if pattern else ():
        if found := re.match(pattern or "", word):
            has_value = found[0] == word and word.startswith("-") and word not in _WITHOUT_VALUE
            return f"{word} {next(words, '')}".strip() if has_value else word
    return ""


def _outside(places: Sequence[_TestCall], python_tests: Sequence[str]) -> list[UnrunTests]:
    """Folders of tests beside those that the commands of pytest and unittest name."""
    runners = [place.runner for place in places if place.runner in _PYTHON_RUNNERS]
    if not runners or "" in (place.runner for place in places):
        return []
    python_calls = [place for place in places if place.runner in _PYTHON_RUNNERS]
    starts = [start for place in python_calls for start in _selected(place, python_tests)]
    outside = [path for path in python_tests if not any(_is_below(path, start) for start in starts)]
    folders = dict.fromkeys(posixpath.dirname(path) for path in outside) if starts else {}
    why = "no check names these tests"
    return [
        UnrunTests(f"{runners[0]} {folder or '.'}", "\0", why, _in_folder(outside, folder))
        for folder in list(folders)[:_MAX_NAMED]
    ]


def _in_folder(paths: Iterable[str], folder: str) -> tuple[str, ...]:
    return tuple(path for path in paths if posixpath.dirname(path) == folder)


def _selected(place: _TestCall, python_tests: Sequence[str]) -> list[str]:
    """The folders and files that a command of pytest or unittest names; its own folder if there are none."""
    words = [word.partition("::")[0] for word in place.arguments if not word.startswith("-")]
    if place.runner == "unittest":
        words = [] if "discover" in words else [file for word in words for file in _files_of_module(word)]
    paths = [posixpath.normpath(posixpath.join(place.folder, word)) for word in words]
    # values of options name no tests
    return [path for path in paths if any(_is_below(test, path) for test in python_tests)] or [place.folder]


def _files_of_module(name: str) -> list[str]:
    """Paths that `tests.test_a.Case.test_one` may mean: a module, or a package, with names in it."""
    if name.endswith(".py") or "/" in name:
        return [name]
    parts = name.split(".")
    return [f"{'/'.join(parts[:end])}.py" for end in range(1, len(parts) + 1)] + ["/".join(parts)]


def _is_below(path: str, start: str) -> bool:
    return start == "." or path == start or path.startswith(f"{start}/")


def _names(words: str, folder: str) -> bool:
    return folder != "." and re.search(rf"(?<![\w.-]){re.escape(folder)}(?![\w.-])", words) is not None
