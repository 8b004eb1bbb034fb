"""Finds test scripts that no test command starts, e.g. `tests/test_add.sh`, and makes a check of them. Pure."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from burnish.checks.own_commands.entry import command_words
from burnish.checks.own_commands.step_kinds import service_in
from burnish.checks.own_commands.steps import ENTRY_NAMES, OwnCommands, needs_arguments
from burnish.checks.tools import MAX_OPENED, ProjectFolder, ToolChoice, Tools, UnrunTests
from burnish.core.check import SCRIPT_RESULT

_MAX_SCRIPTS = 100
# Files that are opened to find out what starts a script.
_MAX_STARTERS = 60
_FOLDER = re.compile(r"(?:^|/)(?:tests?|testing|spec|t|__tests__|[\w-]*[-_]tests?|tests?[-_][\w-]*)/", re.I)
_SHELL_FILE = re.compile(r"\.(?:sh|bash|zsh|ksh)")
# Other languages whose tests have a runner, and data.
_OTHER_FILE = re.compile(r"\.(?!sh$|bash$|zsh$|ksh$|py$|tcl$|exp$|lua$|awk$|fish$|test$)[\w-]+$")
_TEST_NAME = re.compile(
    r"(?:self[-_]?)?tests?(?:[-_.].+|\d*)|.+[-_.](?:self)?tests?|(?:smoke|e2e|integration|regression|acceptance)(?:[-_.].+)?",
    re.I,
)
_HELPER_NAME = re.compile(
    r"(?:^|[-_.])(?:lib|libs|helpers?|common|utils?|utilities|functions?|setup|teardown|env|init|vars|config|framework"
    r"|base|include|shared|main|run|runner|all|data|server|wrapper|driver|install)(?:$|[-_.])",
    re.I,
)
# The tests of a project that no other command tests: `run_tests.sh`, `tests/run.sh`.
_RUNS_TESTS = re.compile(r"(?:run[-_]?(?:all[-_]?)?tests?|tests?/run(?:[-_]?(?:all|tests?))?)(?:\.sh|\.bash)?")
_SAMPLES = re.compile(
    r"(?:^|/)(?:examples?|samples?|[\w-]*fixtures?|testdata|data|templates?|resources?|docs?|benchmarks?|lib|libs|helpers?|support"
    r"|utils?|bin|tools|vendor|third_party|submodules?)/",
    re.I,
)
_SHEBANG = re.compile(r"#!\s*(?:\S*/)?([\w.+-]+)(?:\s+(?:-\S+\s+)*([\w.+-]+))?")
_BASH = re.compile(r"\[\[|^\s*function\s|^\s*source\s|<<<|pipefail|\$\{\w+[\[:^,/@]|\w+=\(|BASH_", re.M)
_FUNCTION = re.compile(r"^\s*(?:function\s+(\w+)|(\w+)\s*\(\s*\))", re.M)
# Lines that name files for another purpose than to start them.
_OTHER_LINE = re.compile(
    r"shellcheck|shfmt|chmod|\blint|prettier|\bfmt\b|\binclude\b|\bCOPY\b|\bexclude|#.*\b(?:see|from)\b", re.I
)
_PATTERN_WORD = re.compile(r"[^\s'\"()=;,]*[*?$%{][^\s'\"();,]*")
_BUILD_FILES = re.compile(
    r"(?:.*/)?(?:CMakeLists\.txt|meson\.build|Makefile\.(?:am|in)|BUILD(?:\.bazel)?|Cargo\.toml|build\.gradle(?:\.kts)?|pom\.xml"
    r"|SCons(?:truct|cript)|Rakefile|build\.xml|Package\.swift|.*\.cabal|.*\.nix)"
)
_TEST_SOURCE = re.compile(
    r"(?:.*/)?(?:test_[^/]*|[^/]*[-_.](?:test|spec)|conftest|[^/]*Test|run[-_]?tests?)\.\w+", re.I
)
_ENTRY_SCRIPT = re.compile(r"(?<![\w./-])(?:\./)?([\w./-]+\.(?:sh|bash|py|js|pl|rb))(?![\w.-])")


@dataclass(frozen=True, slots=True)
class _Script:
    path: str
    program: str
    # its relative paths are those of its own folder
    in_own_folder: bool


def script_tests(tools: Sequence[Tools], place_of: Callable[[str], ProjectFolder]) -> tuple[Tools, ...]:
    """The tools with a check for test scripts that nothing else starts; what cannot be run is named."""
    root = place_of("")
    candidates = [path for path in root.paths if _is_candidate(path)]
    python = [path for path in candidates if path.endswith(".py")]
    candidates = [path for path in candidates if path not in python[MAX_OPENED:]][:_MAX_SCRIPTS]
    if not candidates:
        return tuple(tools)
    folders = sorted({one.folder for one in tools if one.language}, key=len, reverse=True)
    found: list[Tools] = []
    for folder in dict.fromkeys(_folder_of(path, folders) for path in candidates):
        own = [path[len(folder) + 1 if folder else 0 :] for path in candidates if _folder_of(path, folders) == folder]
        if one := _tools_of(place_of(folder), own, tools):
            found.append(one)
    paths = [f"{one.folder}/{path}".strip("/") for one in found if one.test for path in _names(one.test)]
    return (*(_without(one, paths) for one in tools), *found)


def _is_candidate(path: str) -> bool:
    is_below = _FOLDER.search(path) is not None
    if not is_below and "/" in path:
        return False
    name = posixpath.basename(path)
    if _SAMPLES.search(path) or _OTHER_FILE.search(name) or name.startswith(".") or name.endswith("_spec.sh"):
        return False
    stem = name.partition(".")[0] if is_below else name.rpartition(".")[0]
    if _RUNS_TESTS.fullmatch(path):
        return True
    is_named = bool(_TEST_NAME.fullmatch(stem) or _TEST_NAME.fullmatch(name.rpartition(".")[0]))
    if name.endswith(".py") and not is_named:
        return False
    return (is_below or is_named) and ("." not in name or _SHELL_FILE.search(name) is not None or is_named)


def _folder_of(path: str, folders: Iterable[str]) -> str:
    return next((folder for folder in folders if folder and path.startswith(f"{folder}/")), "")


def _tools_of(place: ProjectFolder, paths: Sequence[str], tools: Sequence[Tools]) -> Tools | None:
    texts = {path: place.read(path) for path in paths}
    texts = {path: text for path, text in texts.items() if _program(path, text)}
    has_tests = any(one.test or one.more_tests for one in tools)
    texts = {
        path: text
        for path, text in texts.items()
        if not _is_sourced(path, texts) or (not has_tests and _RUNS_TESTS.fullmatch(path))
    }
    if not texts:
        return None
    starters = [
        line for text in _starters(place, tools, texts) for line in text.splitlines() if not _OTHER_LINE.search(line)
    ]
    scripts, unrun = list[_Script](), list[UnrunTests]()
    for path, text in texts.items():
        if _is_started(path, starters):
            continue
        name = posixpath.basename(path)
        problem = _problem(place, path, text)
        if path.endswith(".py") and any(one.test and one.language == "Python" for one in tools):
            # such files may be tools beside the tests
            problem = "no test command starts it, and pytest and unittest find no test in it"
        if problem:
            unrun.append(UnrunTests(f"{_program(path, text)} {path}", path, problem, (path,)))
        elif not any(map(_TEST_NAME.fullmatch, (name.rpartition(".")[0] or name, name))) and not _RUNS_TESTS.fullmatch(
            path
        ):
            if _SHELL_FILE.search(name):
                why = "no test command starts it, and it is not known whether it is a test"
                unrun.append(UnrunTests(f"{_program(path, text)} {path}", path, why, (path,)))
        else:
            scripts.append(_Script(path, _program(path, text), _is_for_own_folder(place, path, text)))
    if any(one.program == "bash" for one in scripts):
        scripts = [replace(one, program="bash" if one.program == "sh" else one.program) for one in scripts]
    if not scripts and not unrun:
        return None
    # of scripts that are not known, the first ones are enough
    return Tools(place.folder, "Shell", _choice(place, scripts), unrun_tests=tuple(unrun[:5]))


# What pytest or unittest would run, or what only prepares tests.
_RUN_BY_PYTHON = re.compile(r"^\s*(?:async )?def test|\bTestCase\b|\bpytest\b|\bunittest\b|\bdoctest\b", re.M)


def _program(path: str, text: str) -> str:
    """What runs a script; "" for a file that is not one."""
    if path.endswith(".py"):
        is_script = re.search(r"^if __name__ ==", text, re.M) and re.search(r"\bassert\b|\bsys\.exit\b", text)
        return "python3" if is_script and not _RUN_BY_PYTHON.search(text) else ""
    first = text[:200].partition("\n")[0]
    if match := _SHEBANG.match(first):
        program = match[2] if match[1] == "env" and match[2] else match[1]
        return "" if program in ("bats", "env", "make") else program
    if not _SHELL_FILE.search(posixpath.basename(path)):
        return ""
    return "bash" if path.endswith(".bash") or _BASH.search(text) else "sh"


def _is_sourced(path: str, texts: dict[str, str]) -> bool:
    """True for functions that other scripts read, and for what is named so."""
    name = posixpath.basename(path)
    source = re.compile(rf"^\s*(?:\.|source)\s+\S*{re.escape(name)}", re.M)
    return bool(_HELPER_NAME.search(name.partition(".")[0])) or any(
        source.search(text) for other, text in texts.items() if other != path
    )


def _problem(place: ProjectFolder, path: str, text: str) -> str:
    """Why a script cannot be a check, "" if it can."""
    code = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    if service := service_in(code):
        return f"it may need services ({service})"
    if needs_arguments(text):
        return "it needs arguments"
    names = [one or other for one, other in _FUNCTION.findall(code)]
    tests = [name for name in names if name.lower().startswith("test")]
    # shunit2 and the like call the functions of the script that reads them
    is_called = re.search(r"^\s*(?:\.|source)\s", code, re.M) or any(
        re.search(rf"(?<!function )\b{name}\b(?!\s*\()", code) for name in tests
    )
    if tests and not is_called:
        return f"another program must call its functions (`{tests[0]}`)"
    program = _program(path, text)
    return "" if place.around.has_program(program) else f"{program} is not installed here"


def _starters(place: ProjectFolder, tools: Sequence[Tools], scripts: Iterable[str]) -> Iterator[str]:
    """Texts of commands and files that are part of the tests, and may start scripts."""
    choices = [choice for one in tools for choice in (one.test, *one.more_tests, one.lint, one.build) if choice]
    commands = [command_words(choice.command) for choice in choices]
    own = OwnCommands(place)
    for _, steps in own.entries():
        commands += [part for step in steps for part in (step.text, step.line)]
    commands += [text for name, text in own.scripts.items() if "test" in name or name in ENTRY_NAMES]
    if any(re.search(r"(?<![\w./-])g?make\s", text) for text in commands):
        commands += _makefile_texts(own)
    yield from commands
    named_files = {posixpath.normpath(path) for text in commands for path in _ENTRY_SCRIPT.findall(text)}
    script_names = set(scripts)
    files = [path for path in place.paths if path not in script_names and _may_start(path, named_files)]
    yield from (place.read(path) for path in files[:_MAX_STARTERS])
    yield from (place.read(path) for path in scripts)


def _may_start(path: str, named_files: set[str]) -> bool:
    return path in named_files or bool(_BUILD_FILES.fullmatch(path) or _TEST_SOURCE.fullmatch(path))


def _makefile_texts(own: OwnCommands) -> Iterator[str]:
    """A Makefile without the recipes that no test command reaches."""
    make = own.makefile
    pending = [name for name in ENTRY_NAMES if name in make.rules]
    reached_names = set(pending)
    while pending:
        for name in make.rules[pending.pop()].sources:
            if name in make.rules and name not in reached_names:
                reached_names.add(name)
                pending.append(name)
    if not reached_names:
        return
    text = own.place.read(make.name)
    for name, rule in make.rules.items():
        for line in rule.recipe if name not in reached_names and "%" not in name else ():
            text = text.replace(line, "")
    yield text


def _is_started(path: str, lines: Iterable[str]) -> bool:
    """True if a line names the script, or a pattern that it matches."""
    name = posixpath.basename(path)
    word = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-])")
    for line in lines:
        if word.search(line):
            return True
        for found in _PATTERN_WORD.findall(line):
            pattern = re.sub(r"\$\([^()]*\)|\$\{[^{}]*\}|\$\$?\w+|%|\{[^{}]*\}|\*+", "*", found).removeprefix("./")
            if re.search(r"\w", posixpath.basename(pattern)) and any(
                fnmatch.fnmatchcase(one, pattern) for one in (path, name)
            ):
                return True
    return False


def _is_for_own_folder(place: ProjectFolder, path: str, text: str) -> bool:
    """True if a relative path in the script exists beside it, and not from the folder of the project."""
    folder = posixpath.dirname(path)
    if not folder or re.search(r"dirname|BASH_SOURCE|\$\{0%|rev-parse --show-toplevel", text):
        return False
    files = set(place.paths)

    def exists(name: str) -> bool:
        return name in files or any(one.startswith(f"{name}/") for one in files)

    names = re.findall(r"(?<![\w/.$}])(\.{1,2}/[\w./-]*\w)", text)
    names += re.findall(r"^\s*(?:\.|source|sh|bash)\s+([\w-]+\.\w+)", text, re.M)
    return any(
        exists(posixpath.normpath(posixpath.join(folder, one))) and not exists(posixpath.normpath(one)) for one in names
    )


def _choice(place: ProjectFolder, scripts: Sequence[_Script]) -> ToolChoice | None:
    if not scripts:
        return None
    loops = []
    for program, in_own_folder in dict.fromkeys((one.program, one.in_own_folder) for one in scripts):
        paths = [one.path for one in scripts if (one.program, one.in_own_folder) == (program, in_own_folder)]
        start = f'(cd "${{t%/*}}" && {program} "${{t##*/}}")' if in_own_folder else f'{program} "$t"'
        if program == "python3":
            # the modules of the project, if they are not installed
            folders = ".:src" if any(path.startswith("src/") for path in place.paths) else "."
            start = f'PYTHONPATH="{folders}:$PYTHONPATH" {start}'
        loops.append(
            f"for t in {' '.join(_patterns(place, paths))}; do n=$((n+1)); "
            f'{start} {SCRIPT_RESULT} || {{ echo "not ok $n - $t"; r=1; }}; done'
        )
    first = scripts[0].path + (f" and {len(scripts) - 1} more" if scripts[1:] else "")
    return ToolChoice(
        f'n=0 r=0; {"; ".join(loops)}; echo "1..$n"; exit $r', f"{first}: no test command starts them", tap=True
    )


def _patterns(place: ProjectFolder, paths: Sequence[str]) -> list[str]:
    """Patterns that match these scripts and no other file, so that new scripts run, too; else their names."""
    result: dict[str, None] = {}
    for path in paths:
        folder, name = posixpath.split(path)
        shapes = [re.sub(r"^((?:self)?tests?[-_.]).+?((?:\.\w+)?)$", r"\1*\2", name, flags=re.I)]
        shapes.append(re.sub(r"^.+?([-_.]tests?(?:\.\w+)?)$", r"*\1", name, flags=re.I))
        patterns = [posixpath.join(folder, shape) for shape in shapes if "*" in shape]
        matching = (one for one in patterns if all(other in paths for other in _matches(place, one)))
        result[next(matching, path)] = None
    return [one if re.fullmatch(r"[\w./*+-]+", one) else f"'{one}'" for one in result]


def _matches(place: ProjectFolder, pattern: str) -> list[str]:
    depth = pattern.count("/")
    return [path for path in place.paths if path.count("/") == depth and fnmatch.fnmatchcase(path, pattern)]


def _names(choice: ToolChoice) -> list[str]:
    return [
        word for words in re.findall(r"for t in (.*?); do", command_words(choice.command)) for word in words.split()
    ]


def _without(tools: Tools, patterns: Sequence[str]) -> Tools:
    """The tools without notes on scripts that the new check runs."""
    words = [(one, re.findall(r"[\w./-]+", one.what)) for one in tools.unrun_tests]
    unrun = tuple(
        one
        for one, names in words
        if not any(fnmatch.fnmatchcase(posixpath.normpath(n), p) for n in names for p in patterns)
    )
    return replace(tools, unrun_tests=unrun)
