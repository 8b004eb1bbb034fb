"""Protected files and sections: burnish's own settings, and those of test, lint and CI tools."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from fnmatch import fnmatchcase
from typing import Any

from burnish.checks.guard.commands import load_json, makefile_parts, script_parts
from burnish.core.path_patterns import is_named, is_named_as_written
from burnish.regular_files import parse_toml

# Files of burnish itself; adapters declare the files that instruct their agents.
_JUDGE = re.compile(r"^(?:burnish\.ya?ml|\.burnish/.+)$|(?:^|/)REVIEW(?:\.local|\.override)?\.md$")
_TOOLING = re.compile(
    r"(?:^|/)(?:\.?pytest\.(?:ini|toml)|tox\.(?:ini|toml)|hatch\.toml|noxfile\.py|\.coveragerc|\.?ruff\.toml|\.?mypy\.ini|\.flake8|\.?pylintrc|\.isort\.cfg"
    r"|pyrightconfig\.json|\.bandit|conftest\.py|sitecustomize\.py|usercustomize\.py"
    r"|\.eslintrc(?:\.\w+)?|\.eslintignore|eslint\.config\.\w+|\.prettierrc(?:\.\w+)?|\.prettierignore|prettier\.config\.\w+|biome\.jsonc?"
    r"|\.stylelintrc(?:\.\w+)?|jest\.(?:config|setup)\.\w+|vitest\.(?:config|setup|workspace)\.\w+|playwright\.config\.\w+|cypress\.config\.\w+"
    r"|vite\.config\.\w+|ava\.config\.\w+|babel\.config\.\w+|\.babelrc(?:\.\w+)?|\.swcrc|\.c8rc(?:\.\w+)?|__mocks__/.+|bunfig\.toml|\.npmrc|\.yarnrc(?:\.ya?ml)?"
    r"|\.pnpmfile\.[cm]?js|\.cargo/config(?:\.toml)?|\.config/nextest\.toml|go\.work|vendor/modules\.txt|gradle\.properties|gradlew|gradle/wrapper/.+|mvnw"
    r"|\.mvn/.+|[Tt]askfile(?:\.dist)?\.ya?ml|[Rr]akefile(?:\.rb)?"
    r"|karma\.conf\.\w+|\.mocharc(?:\.\w+)?|\.nycrc(?:\.\w+)?|tsconfig[\w.-]*\.json|\.golangci\.(?:ya?ml|toml|json)|\.?clippy\.toml|\.?rustfmt\.toml"
    r"|behave\.ini|\.behaverc|CTestCustom\.cmake|robot\.toml|\.proverc|\.perlcriticrc|node\.config\.json|deno\.jsonc?|unittest\.cfg|dart_test\.yaml|\.busted|\.rubocop\w*\.yml|\.rspec|phpunit\.xml(?:\.dist)?|phpstan\.neon(?:\.dist)?|checkstyle\.xml|\.editorconfig-checker\.json"
    r"|\.?codecov\.ya?ml|sonar-project\.properties|\.pre-commit-config\.ya?ml|lefthook\.ya?ml|\.semgrepignore|\.semgrep\.ya?ml"
    r"|\.gitlab-ci\.ya?ml|Jenkinsfile[\w.-]*|azure-pipelines\.ya?ml|\.travis\.ya?ml|bitbucket-pipelines\.ya?ml|\.drone\.ya?ml|\.cirrus\.ya?ml|appveyor\.ya?ml)$"
    r"|^\.(?:github/(?:workflows|actions)|circleci|buildkite|gitlab/ci|husky)/.+$"
)
_TOOLS = (
    "pytest tox nox ruff mypy coverage flake8 pylint black isort pyright basedpyright bandit taskipy poe nose2".split()
)
_INI = re.compile(r"^\s*\[([^\]]+)\]\s*$")
_INI_TOOLS = re.compile(
    r"tool:pytest|pytest|tox\b|testenv|flake8|mypy|coverage|pylint|pycodestyle|pydocstyle|isort|pep8|nosetests|ruff"
)
# Sections of pyproject.toml in which other tools keep commands.
_TASKS = (("hatch", ("envs",)), ("pdm", ("scripts",)), ("rye", ("scripts",)), ("pixi", ("tasks", "feature")))
_CARGO_TARGET = ("test", "harness", "doctest", "path")
_CARGO_CHECKS = ("debug-assertions", "overflow-checks", "panic", "inherits")
_PACKAGE_JSON = "jest vitest eslintConfig eslintIgnore prettier nyc c8 mocha ava lint-staged husky xo".split()
# Commands of CMake and functions of meson, with their arguments up to one level of brackets.
_CALL = re.compile(r"^[ \t]*(?:\w+[ \t]*=[ \t]*)?(\w+)[ \t]*\(((?:[^()]|\([^()]*\))*)\)", re.MULTILINE)
_TEST_CALL = re.compile(r"(?:add_)?test|set_tests_properties|\w+_discover_tests|add_test_setup|enable_testing", re.I)
_OF_TEST = re.compile(r"\s*(?:NAME\s+|PROPERTIES\s+)?['\"]?([^\s'\",()]+)")
# Flags decide whether assertions are compiled: `-DNDEBUG`, the build type Release, `b_ndebug`.
_FLAGS = re.compile(r"NDEBUG|CMAKE_BUILD_TYPE|CMAKE_\w*FLAGS|buildtype|\bBUILD_TESTING\b|^\s*TEST\b", re.I)
# Which file an import of the package loads, also in its own tests.
_ENTRY_POINTS = "main module browser exports imports packageManager".split()
# Diffs have a sign before each line. `pytest_plugins` loads modules with hooks.
_HOOK_NAME = r"pytest_(?:plugins|runtest|collect|pyfunc|session|make|report|assert|terminal|generate|configure)\w*"
_HOOK = re.compile(
    rf"^[+ -]?(?:async[ ]+)?def[ ]+(pytest_[a-z_]+)[ ]*\(|^[+ -]?({_HOOK_NAME})[ ]*(?::[^=\n]+)?=(?!=)"
    rf"|^[+ -]?(?:from|import)\b[^\n]*\bas[ ]+({_HOOK_NAME})",
    re.MULTILINE,
)
_TOP_LEVEL = re.compile(r"^(?=[^\s)\]}#])", re.MULTILINE)

Parts = Mapping[str, str]


def is_judge(path: str, agent_files: Collection[str]) -> bool:
    """True for files that set the review criteria or instruct the reviewing agents."""
    return _JUDGE.search(path) is not None or is_named(path, agent_files)


def may_be_page(path: str, agent_files: Collection[str]) -> bool:
    """True if only the case of letters tells the file from one that instructs agents: `docs/agents.md`."""
    return _JUDGE.search(path) is None and not is_named_as_written(path, agent_files)


def is_tooling(path: str) -> bool:
    """True for files that contain only settings of test, lint, coverage or CI tools."""
    return _TOOLING.search(path) is not None


def is_shared(path: str) -> bool:
    """True for files of which only some sections are protected."""
    name = path.rpartition("/")[2]
    return name.endswith(".mk") or _is_build_file(name) or name in (*_READERS, "pyproject.toml")


def judge_parts(path: str, old: str, new: str) -> tuple[Parts, Parts]:
    """The sections of a shared file that are burnish's own settings, before and after, by name."""
    if path != "pyproject.toml":
        return {}, {}
    # Parse both texts in the same way, so that they can be compared.
    by_header = _parsed(old) is None or _parsed(new) is None
    before, after = (_toml(text, by_header=by_header) for text in (old, new))
    return _only(before, _is_own), _only(after, _is_own)


def tooling_parts(path: str, old: str, new: str, commands: Collection[str] = ()) -> tuple[Parts, Parts]:
    """The sections of a shared file that set up test, lint, coverage or CI, or that these commands run."""
    name = path.rpartition("/")[2]
    if name == "pyproject.toml":
        by_header = _parsed(old) is None or _parsed(new) is None
        before, after = (_toml(text, by_header=by_header) for text in (old, new))
        return _only(before, _is_tool), _only(after, _is_tool)
    if name.endswith(".py"):
        return _hooks(old), _hooks(new)
    if switches_assertions(path, old) or switches_assertions(path, new):
        return _assertion_switches(path, old, new)
    if _is_build_file(name):
        calls, new_calls = _build_calls(old), _build_calls(new)
        # a test that is added takes nothing away
        return calls, _only(new_calls, lambda call: call in calls or not call.startswith("test "))
    reader = _included_makefile if name.endswith(".mk") else _READERS.get(name)
    if not reader:
        return {}, {}
    now = _members(name, new)
    lost = [one for one in _members(name, old) if not any(fnmatchcase(one, pattern) for pattern in now)]
    return {**reader(old, commands), **{f"member {one}": one for one in lost}}, reader(new, commands)


def names_hook(path: str, text: str) -> bool:
    """Does Python text define or import a hook of pytest? A conftest.py may import it from any module."""
    return path.endswith(".py") and _HOOK.search(text) is not None


# Sources in which assertions can be switched off or replaced for all files that include them, and files with flags.
_SWITCHING = re.compile(
    r"\.(?:c|h|cc|cpp|cxx|hpp|hh|inc|php|java|kt|rs|sh|bash|gyp|gypi|bazel|pro|pri|ac|am|in)$"
    r"|(?:^|/)(?:BUILD|SConstruct|SConscript|wscript|CMake(?:User)?Presets\.json|configure|build\.zig|xmake\.lua|php\.ini|\.user\.ini)$"
)
_OFF = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?:NDEBUG|assert)\b.*|[-/]D[ \t]*[\"']?NDEBUG\b"
    r"|\bzend\.assertions\b['\"]?[ \t]*[=,][ \t]*['\"]?(?:-1|0)|\bASSERT_ACTIVE[ \t]*,[ \t]*(?:0|false)"
    r"|\b(?:setDefaultAssertionStatus|setPackageAssertionStatus|setClassAssertionStatus)\([^)\n]{0,200}\bfalse\b"
    r"|(?<!\S)(?:-da|-disableassertions|-dsa)\b|\bdebug-assertions[ \t]*=[ \t]*(?:off|no|false|n)\b",
    re.M | re.I,
)
_ON = re.compile(
    r"^[ \t]*#[ \t]*undef[ \t]+NDEBUG\b|[-/]U[ \t]*NDEBUG\b|\bzend\.assertions\b['\"]?[ \t]*[=,][ \t]*['\"]?1"
    r"|(?<!\S)(?:-ea|-enableassertions)\b",
    re.M | re.I,
)


def switches_assertions(path: str, text: str) -> bool:
    """Does the text of a source or of a build file, or of its diff, switch assertions on or off?"""
    if not _SWITCHING.search(path):
        return False
    text = re.sub(r"^[+ -](?=[ \t]*#)", "", text, flags=re.M)
    return _OFF.search(text) is not None or _ON.search(text) is not None


def _assertion_switches(path: str, old: str, new: str) -> tuple[Parts, Parts]:
    """Switches in a file, if the new text has more that switch assertions off, or fewer that switch them on."""
    off, on = (
        [[" ".join(match[0].split()) for match in pattern.finditer(_without_comments(text))] for text in (old, new)]
        for pattern in (_OFF, _ON)
    )
    if not set(off[1]) - set(off[0]) and not set(on[0]) - set(on[1]):
        return {}, {}
    return ({"assertions": "\n".join(off[0] + on[0])}, {"assertions": "\n".join(off[1] + on[1])})


def _without_comments(text: str) -> str:
    return re.sub(r"/\*[\s\S]*?(?:\*/|\Z)|(?<!:)//.*", "", text)


def _members(name: str, text: str) -> list[str]:
    """Packages of a workspace, modules of Maven, projects of Gradle: their tests run with those of the root."""
    if name == "Cargo.toml":
        members = _table(_table(_parsed(text)).get("workspace")).get("members")
    elif name == "package.json":
        entry = load_json(text)[0].get("workspaces")
        members = _table(entry).get("packages") if isinstance(entry, dict) else entry
    elif name == "pom.xml":
        members = re.findall(r"<module>\s*([^<\s]+)\s*</module>", re.sub(r"<!--[\s\S]*?(?:-->|\Z)", "", text))
    elif name.startswith("settings.gradle"):
        lines = re.findall(r"^[ \t]*include\b((?:.*,[ \t]*\n)*.*)", _without_comments(text[:_MOST_GRADLE]), re.M)
        members = [member for line in lines for member in re.findall(r"[\"']([^\"'\n]+)[\"']", line)]
    elif name == "pnpm-workspace.yaml":
        members = re.findall(r"^[ \t]*-[ \t]+['\"]?([^'\"\s#]+)", text, re.M)
    else:
        members = None
    return [member for member in members if isinstance(member, str)] if isinstance(members, list) else []


def _hooks(text: str) -> Parts:
    """Hooks of pytest by name, with all lines that belong to them."""
    found = list(_HOOK.finditer(text))
    ends = [_TOP_LEVEL.search(text, match.end()) for match in found]
    return {
        next(filter(None, match.groups())): text[match.start() : end.start() if end else len(text)]
        for match, end in zip(found, ends, strict=True)
    }


def has_section(path: str, text: str, section: str) -> bool:
    """Does a file of sections (`pyproject.toml`, `tox.ini`) have this one?"""
    return section in (_toml(text) if path.endswith(".toml") else _ini(text))


def _only(parts: Parts, accepts: Callable[[str], bool]) -> Parts:
    return {name: part for name, part in parts.items() if accepts(name)}


def _is_own(name: str) -> bool:
    return name.split(".")[:2] == ["tool", "burnish"]


def _is_tool(name: str) -> bool:
    words = [word.strip("\"'") for word in name.split(".")]
    if words[:1] != ["tool"] or len(words) < 2:
        return words[-1] == "pytest11"
    return words[1] in _TOOLS or words[1:3] in [[tool, key] for tool, keys in _TASKS for key in keys]


def substance(text: str | None) -> str:
    """The text without blank lines, comments and trailing whitespace."""
    lines = (line.rstrip() for line in re.split(r"\r\n?|\n", text or ""))
    return "\n".join(line for line in lines if line.strip() and not _is_comment(line))


def _is_comment(line: str) -> bool:
    """Lines with U+2028 and the like do not count: in some languages these characters end a comment."""
    return len(line.splitlines()) == 1 and re.match(r"\s*(?:#(?!!)|;|//)", line) is not None


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return parse_toml(text)
    except (ValueError, RecursionError):
        return None


def _toml(text: str, *, by_header: bool = False) -> dict[str, str]:
    """Tables down to the second level by dotted name. A file that cannot be parsed is split at its headers."""
    data = None if by_header else _parsed(text)
    if data is None:
        return {name.strip("[] \"'"): part for name, part in _ini(text).items()}
    parts = {name: _as_text(value) for name, value in data.items() if name != "tool"}
    points = _table(_table(data.get("project")).get("entry-points"))
    if "pytest11" in points:
        parts["project.entry-points.pytest11"] = _as_text(points["pytest11"])
    tools = data.get("tool")
    if isinstance(tools, dict):
        parts |= {f"tool.{name}": _as_text(value) for name, value in tools.items()}
        for tool, keys in _TASKS:
            table = tools.get(tool)
            if isinstance(table, dict):
                parts |= {f"tool.{tool}.{key}": _as_text(table[key]) for key in keys if key in table}
    return parts


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _as_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _cargo(text: str, commands: Collection[str]) -> Parts:
    """Lints, replacements of other crates, and options that exclude tests."""
    data = _parsed(text)
    if data is None:
        return {name: part for name, part in _toml(text).items() if name == "lints"}
    parts: dict[str, str] = {name: _as_text(data[name]) for name in ("lints", "patch", "replace") if name in data}
    lints = _table(data.get("workspace")).get("lints")
    package = _table(data.get("package"))
    parts |= {f"package.{name}": _as_text(package[name]) for name in ("autotests", "build") if name in package}
    for name in ("lib", "bin", "test", "example"):
        table = data.get(name)
        entries = [_table(entry) for entry in (table if isinstance(table, list) else [table])]
        switches = [{key: entry[key] for key in ("name", *_CARGO_TARGET) if key in entry} for entry in entries]
        if any(key in entry for entry in entries for key in _CARGO_TARGET):
            parts[name] = _as_text(switches)
    # a test that overflows or breaks an assertion passes without these checks
    for name, profile in _table(data.get("profile")).items():
        tables = [_table(profile), *map(_table, _table(_table(profile).get("package")).values())]
        checks = [{key: table[key] for key in _CARGO_CHECKS if key in table} for table in tables]
        if any(checks):
            parts[f"profile.{name}"] = _as_text(checks)
    return parts | ({"workspace.lints": _as_text(lints)} if lints else {})


_POM_TAG = re.compile(
    r"<(plugin|skip(?:Unit|Integration)?(?:Tests?|ITs?)|maven\.test\.[\w.]+|(?:surefire|failsafe)\.[\w.-]+|testFailureIgnore"
    r"|testSourceDirectory|testResources|argLine|enableAssertions)>"
)
_TEST_PLUGIN = re.compile(r"<artifactId>\s*(maven-(?:surefire|failsafe)-plugin)\s*<")


def _pom(text: str, commands: Collection[str]) -> Parts:
    """Settings of Maven that decide which tests run and whether their failures count. Versions do not count."""
    text = re.sub(r"<!--[\s\S]*?(?:-->|\Z)", "", text)
    parts: dict[str, list[str]] = {}
    end = 0
    for match in _POM_TAG.finditer(text):
        if match.start() < end:
            continue
        end = text.find(f"</{match[1]}>", match.end())
        if end < 0:
            break
        plugin = _TEST_PLUGIN.search(text, match.end(), end)
        if plugin or match[1] != "plugin":
            block = re.sub(r"<version>[^<]*</version>", "", text[match.end() : end])
            parts.setdefault(plugin[1] if plugin else match[1], []).append("".join(block.split()))
    return {name: "\n".join(blocks) for name, blocks in parts.items()}


# Blocks of Gradle about tests, in Groovy and in Kotlin, and lines outside of them.
_GRADLE_BLOCK = re.compile(
    r"^[ \t]*(?:tasks ?\.? ?)?(?:(?:named|withType|register|create|getByName)? ?(?:< ?Test ?>)? ?\(? ?"
    r"[\"']?(?:test\w{0,60}|Test)(?:::class)?[\"']?(?:, ?Test(?:::class)?)? ?\)?"
    r"(?: ?\.? ?(?:configureEach|configure|all))?"
    r"|(?:val )?\w{0,60}[tT]est\w{0,60} by [\w.]{1,60}|testing|unitTests(?:\.all)?|testOptions) ?\{",
    re.M,
)
_GRADLE_LINE = re.compile(
    r"^.*\b(?:ignoreFailures|failFast|enableAssertions|excludeTags|excludeTestsMatching|excludeTest\w*|setIgnoreFailures|failOnNoDiscoveredTests)\b.*$"
    r"|^.*\btest\w*\.(?:enabled|onlyIf|exclude|filter|useJUnit\w*)\b.*$|^.*gradle\.startParameter\.excluded.*$",
    re.M,
)
_MOST_GRADLE = 200_000


def _gradle(text: str, commands: Collection[str]) -> Parts:
    """Blocks about tests, without how their results are printed."""
    text = _without_comments(text[:_MOST_GRADLE])
    blocks, end = [], 0
    for match in _GRADLE_BLOCK.finditer(text):
        if match.start() >= end:
            end = _end_of_block(text, match.end())
            blocks.append(text[match.start() : end])
    lines = [match[0] for match in _GRADLE_LINE.finditer(text)]
    plain = (re.sub(r"\b(?:testLogging|reports)\s*\{[^{}]*\}", "", block) for block in (*blocks, *lines))
    found = list(dict.fromkeys("".join(one.split()) for one in plain))
    # an empty block has no setting
    found = [one for one in found if not re.search(r"\{(?:useJUnit(?:Platform)?\(\);?)?\}$", one)]
    return {"test": "\n".join(found)} if found else {}


def _end_of_block(text: str, start: int) -> int:
    depth = 1
    for match in re.finditer(r"[{}]", text[start:]):
        depth += 1 if match[0] == "{" else -1
        if not depth:
            return start + match.end()
    return len(text)


def _is_build_file(name: str) -> bool:
    return name in ("CMakeLists.txt", "meson.build") or name.endswith(".cmake")


def _build_calls(text: str) -> Parts:
    """What CMake or meson run as tests, by name, and the calls that set flags of the compiler."""
    parts: dict[str, list[str]] = {}
    for call in _CALL.finditer("\n".join(line for line in text.splitlines() if not _is_comment(line))):
        words = " ".join(call[2].split())
        if _TEST_CALL.fullmatch(call[1]):
            test = _OF_TEST.match(call[2])
            parts.setdefault(f"test {test[1]}" if test else call[1], []).append(f"{call[1]} {words}")
        elif call[1].lower() in ("add_subdirectory", "subdir"):
            parts.setdefault(f"test folder {words}", []).append(words)
        elif _FLAGS.search(call[2]):
            parts.setdefault("flags", []).append(f"{call[1]} {words}")
    return {name: "\n".join(calls) for name, calls in parts.items()}


def _go_mod(text: str, commands: Collection[str]) -> Parts:
    """Replacements of modules, and the toolchain."""
    blocks = re.findall(r"^(?:replace|toolchain)\b[ \t]*(?:\([^)]*\)|.*)", text, re.M)
    return {"replace": "\n".join(blocks)} if blocks else {}


def _ini(text: str) -> dict[str, str]:
    parts: dict[str, list[str]] = {}
    here: list[str] = []
    for line in re.split(r"\r\n?|\n", text):
        found = _INI.match(line)
        if found:
            here = parts.setdefault(found[1].strip(), [])
        elif line.strip() and not line.lstrip().startswith(("#", ";")):
            here.append(line.rstrip())
    return {name: "\n".join(lines) for name, lines in parts.items()}


def _setup_cfg(text: str, commands: Collection[str]) -> Parts:
    sections = _ini(text)
    plugins = {name: part for name, part in sections.items() if "entry_points" in name and "pytest11" in part}
    return {name: part for name, part in sections.items() if _INI_TOOLS.match(name)} | plugins


def _package_json(text: str, commands: Collection[str]) -> Parts:
    data, repeated_keys = load_json(text)
    parts: dict[str, str] = {name: _as_text(data[name]) for name in (*_PACKAGE_JSON, *_ENTRY_POINTS) if name in data}
    if repeated_keys:
        parts["repeated keys"] = _as_text(repeated_keys)
    return parts | script_parts(data, commands)


def _included_makefile(text: str, commands: Collection[str]) -> Parts:
    """All variables count, since other files may use them."""
    return makefile_parts(re.sub(r"^(?=[\w.-]+[ \t]*[:?+!]*=)", "export ", text, flags=re.M), commands)


_READERS: dict[str, Callable[[str, Collection[str]], Parts]] = {
    "setup.cfg": _setup_cfg,
    "Cargo.toml": _cargo,
    "go.mod": _go_mod,
    "pom.xml": _pom,
    "pnpm-workspace.yaml": lambda text, commands: {},
    **dict.fromkeys(("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"), _gradle),
    **dict.fromkeys(("package.json", "composer.json", "deno.json", "deno.jsonc"), _package_json),
    **dict.fromkeys(("Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", ".justfile"), makefile_parts),
}
