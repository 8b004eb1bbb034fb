"""Which files, and which parts of them, judge a change: burnish's own settings, and those of test, lint and CI."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from typing import Any

from burnish.core.project_files import is_named

# Files of burnish itself; what instructs the agents is told by their adapters.
_JUDGE = re.compile(r"^(?:burnish\.ya?ml|\.burnish/.+)$|(?:^|/)REVIEW(?:\.local|\.override)?\.md$")
_TOOLING = re.compile(
    r"(?:^|/)(?:\.?pytest\.ini|tox\.ini|noxfile\.py|\.coveragerc|\.?ruff\.toml|\.?mypy\.ini|\.flake8|\.?pylintrc|\.isort\.cfg"
    r"|pyrightconfig\.json|\.bandit|conftest\.py|sitecustomize\.py|usercustomize\.py"
    r"|\.eslintrc(?:\.\w+)?|\.eslintignore|eslint\.config\.\w+|\.prettierrc(?:\.\w+)?|\.prettierignore|prettier\.config\.\w+|biome\.jsonc?"
    r"|\.stylelintrc(?:\.\w+)?|jest\.(?:config|setup)\.\w+|vitest\.(?:config|setup|workspace)\.\w+|playwright\.config\.\w+|cypress\.config\.\w+"
    r"|karma\.conf\.\w+|\.mocharc(?:\.\w+)?|\.nycrc(?:\.\w+)?|tsconfig[\w.-]*\.json|\.golangci\.(?:ya?ml|toml|json)|\.?clippy\.toml|\.?rustfmt\.toml"
    r"|\.rubocop\w*\.yml|\.rspec|phpunit\.xml(?:\.dist)?|phpstan\.neon(?:\.dist)?|checkstyle\.xml|\.editorconfig-checker\.json"
    r"|\.?codecov\.ya?ml|sonar-project\.properties|\.pre-commit-config\.ya?ml|lefthook\.ya?ml|\.semgrepignore|\.semgrep\.ya?ml"
    r"|\.gitlab-ci\.ya?ml|Jenkinsfile[\w.-]*|azure-pipelines\.ya?ml|\.travis\.ya?ml|bitbucket-pipelines\.ya?ml|\.drone\.ya?ml|\.cirrus\.ya?ml|appveyor\.ya?ml)$"
    r"|^\.(?:github/(?:workflows|actions)|circleci|buildkite|gitlab/ci|husky)/.+$"
)
_TOOLS = (
    "pytest tox nox ruff mypy coverage flake8 pylint black isort pyright basedpyright bandit taskipy poe nose2".split()
)
_VERB = re.compile(r"test|lint|check|coverage|\bci\b|typecheck|type-check|verify|format|^prepare$", re.I)
_INI = re.compile(r"^\s*\[([^\]]+)\]\s*$")
_INI_TOOLS = re.compile(
    r"tool:pytest|pytest|tox\b|testenv|flake8|mypy|coverage|pylint|pycodestyle|pydocstyle|isort|pep8|nosetests|ruff"
)
_RULE = re.compile(r"^([\w./%$(){} -]+?)\s*::?(?!=)")
_PACKAGE_JSON = "jest vitest eslintConfig eslintIgnore prettier nyc c8 mocha ava lint-staged husky xo".split()

Parts = Mapping[str, str]


def is_judge(path: str, agent_files: Collection[str]) -> bool:
    """Does it decide how work is judged, or instruct the agents that judge it?"""
    return _JUDGE.search(path) is not None or is_named(path, agent_files)


def is_tooling(path: str) -> bool:
    """A file that is nothing but settings of test, lint, coverage or CI."""
    return _TOOLING.search(path) is not None


def is_shared(path: str) -> bool:
    """A file of which only some sections judge."""
    return path.rpartition("/")[2] in (*_READERS, "pyproject.toml")


def judge_parts(path: str, old: str, new: str) -> tuple[Parts, Parts]:
    """The sections of a shared file that are burnish's own settings, before and after; name → what it says."""
    if path != "pyproject.toml":
        return {}, {}
    # two readings can be compared only if both are of one kind
    by_header = _parsed(old) is None or _parsed(new) is None
    before, after = (_toml(text, by_header=by_header) for text in (old, new))
    return _only(before, _is_own), _only(after, _is_own)


def tooling_parts(path: str, old: str, new: str) -> tuple[Parts, Parts]:
    """The sections of a shared file that set up test, lint, coverage or CI, before and after."""
    name = path.rpartition("/")[2]
    if name == "pyproject.toml":
        by_header = _parsed(old) is None or _parsed(new) is None
        before, after = (_toml(text, by_header=by_header) for text in (old, new))
        return _only(before, _is_tool), _only(after, _is_tool)
    reader = _READERS.get(name)
    return (reader(old), reader(new)) if reader else ({}, {})


def has_section(path: str, text: str, section: str) -> bool:
    """Does a file of sections (`pyproject.toml`, `tox.ini`) have this one?"""
    return section in (_toml(text) if path.endswith(".toml") else _ini(text))


def _only(parts: Parts, wanted: Callable[[str], bool]) -> Parts:
    return {name: part for name, part in parts.items() if wanted(name)}


def _is_own(name: str) -> bool:
    return name.split(".")[:2] == ["tool", "burnish"]


def _is_tool(name: str) -> bool:
    words = [word.strip("\"'") for word in name.split(".")]
    if words[:1] != ["tool"] or len(words) < 2:
        return False
    return words[1] in _TOOLS or words[1:3] in (["hatch", "envs"], ["pdm", "scripts"])


def substance(text: str | None) -> str:
    """Without blank lines, comments and indentation at the end: what is left says something."""
    lines = (line.rstrip() for line in re.split(r"\r\n?|\n", text or ""))
    return "\n".join(line for line in lines if line.strip() and not _is_comment(line))


def _is_comment(line: str) -> bool:
    """Languages disagree on whether U+2028 and the like end a comment: such a line is not left out."""
    return len(line.splitlines()) == 1 and re.match(r"\s*(?:#(?!!)|;|//)", line) is not None


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return None


def _toml(text: str, *, by_header: bool = False) -> dict[str, str]:
    """Tables two deep by dotted name. A file that cannot be parsed is cut at its headers."""
    data = None if by_header else _parsed(text)
    if data is None:
        return {name.strip("[] \"'"): part for name, part in _ini(text).items()}
    parts = {name: _said(value) for name, value in data.items() if name != "tool"}
    tools = data.get("tool")
    if isinstance(tools, dict):
        parts |= {f"tool.{name}": _said(value) for name, value in tools.items()}
        for tool, keys in (("hatch", ("envs",)), ("pdm", ("scripts",)), ("poetry", ("scripts",))):
            table = tools.get(tool)
            if isinstance(table, dict):
                parts |= {f"tool.{tool}.{key}": _said(table[key]) for key in keys if key in table}
    return parts


def _said(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _cargo(text: str) -> Parts:
    parts = {name: part for name, part in _toml(text).items() if name == "lints"}
    workspace = (_parsed(text) or {}).get("workspace")
    lints = workspace.get("lints") if isinstance(workspace, dict) else None
    return parts | ({"workspace.lints": _said(lints)} if lints else {})


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


def _setup_cfg(text: str) -> Parts:
    return {name: part for name, part in _ini(text).items() if _INI_TOOLS.match(name)}


def _package_json(text: str) -> Parts:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(data, dict):
        return {}
    parts = {name: _said(data[name]) for name in _PACKAGE_JSON if name in data}
    scripts = data.get("scripts")
    if isinstance(scripts, dict):
        parts |= {f"scripts.{name}": _said(words) for name, words in scripts.items() if _VERB.search(name)}
    return parts


def _makefile(text: str) -> Parts:
    """The recipes of targets that test, lint or check."""
    parts: dict[str, str] = {}
    here: list[str] = []
    for line in re.split(r"\r\n?|\n", text):
        if line.startswith(("\t", "    ")):
            for name in here:
                parts[name] += "\n" + line.strip()
            continue
        if not line.strip() or line.startswith("#"):
            continue
        rule = _RULE.match(line)
        names = rule[1].split() if rule else []
        here = [name for name in names if _VERB.search(name) and not name.startswith(".")]
        parts |= {name: parts.get(name, "") + line.strip() for name in here}
    return parts


_READERS: dict[str, Callable[[str], Parts]] = {
    "setup.cfg": _setup_cfg,
    "Cargo.toml": _cargo,
    "package.json": _package_json,
    **dict.fromkeys(("Makefile", "makefile", "GNUmakefile", "justfile", "Justfile"), _makefile),
}
