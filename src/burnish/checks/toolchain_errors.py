"""Detects test runs that ended before any test, because a toolchain did not start."""

from __future__ import annotations

import re
from pathlib import Path

from burnish.checks.placement import Placement
from burnish.core.error_lines import first_error

_COULD_NOT_START = (126, 127)
# Messages of version managers and launchers without a program to start, and of make and others for exit code 127.
_NOT_STARTED = re.compile(
    r"^(?:"
    r"make(?:\[\d+\])?: \*\*\* .* Error 12[67]|error: Recipe .* exit code 12[67]|task: .* exit status 12[67]"
    r"|error: (?:rustup could not choose|toolchain '|no override and no default toolchain|no default toolchain"
    r"|could not download file|'\S+' is not installed for the toolchain|rustup is not installed).*"
    r"|go: (?:download go\d|go\.(?:mod|work) requires go >=|cannot find GOROOT|.*toolchain not available).*"
    r"|(?:pyenv|rbenv|nodenv|jenv|goenv): .*(?:not installed|command not found).*"
    r"|N/A: version .*|.*version \"?v?[\d.]+\"? is not (?:yet )?installed.*"
    r"|(?:No version is set for command|No preset version installed for command|unknown command: .*reshim|asdf: ).*"
    r"|mise ERROR .*|Volta error.*"
    r"|.*JAVA_HOME (?:environment variable )?is (?:not defined|not set|set to an invalid).*"
    r"|.*Unable to locate a Java Runtime.*"
    r"|.*No compiler is provided in this environment.*|.*(?:release version \S+ not supported|invalid target release).*"
    r"|.*Could not find or load main class org\.(?:gradle|apache\.maven)\..*|A compatible \.NET SDK was not found.*"
    r"|.*Cannot find (?:module|package) '(?!node:)[\w@][^']*'.*"
    r")$",
    re.M,
)
# A suite without tests: a task may add the first ones.
_NO_TESTS = re.compile(
    r"(?i)\bno tests? (?:(?:files?|suites?|cases?) )?(?:were )?(?:found|ran|to run|specified)\b|\bno test files\b"
)
_PLACE = re.compile(r"([\w./@+-]+\.[A-Za-z]\w*)(?::|\(|:\[)\d+")
_INSTALLED = re.compile(r"(?:^|/)(?:node_modules|site-packages|\.venv|venv|vendor)/")


def not_started(output: str, exit_code: int | None, *, runner: str, place: Placement) -> str:
    """Why a failed run without test cases has no result; "" if its exit code may be the result.


    `runner` is the known test runner that the command starts; "" for other commands, which may report by exit code.
    """
    if not exit_code:
        return ""
    if found := _NOT_STARTED.search(output):
        cause = first_error(output) if found[0].startswith("make") else found[0].strip()
        return f"A program that it needs does not start: {cause[:300]}"
    if exit_code in _COULD_NOT_START:
        return f"A program that it needs does not start (exit code {exit_code}): {first_error(output)}"
    if runner and not _NO_TESTS.search(output) and not _names_source(output, place):
        return f"{runner} ended with exit code {exit_code} and ran no test"
    return ""


def _names_source(output: str, place: Placement) -> bool:
    """True if the output names a file of the tree, e.g. a compiler error, which a task may fix."""
    roots = sorted({f"{root}/" for path in (place.files, place.path) for root in (path, path.resolve())})
    for word in dict.fromkeys(_PLACE.findall(output)):
        name = next((word.removeprefix(root) for root in roots if word.startswith(root)), word)
        if not name.startswith("/") and not _INSTALLED.search(name) and _is_file(place.files / name):
            return True
    return False


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False
