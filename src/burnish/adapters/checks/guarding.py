"""Gives the guard what it needs of git and of the installed packages."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from burnish.adapters.checks.tree_checks import TreeChecks
from burnish.agents.registry import PROJECT_FILES
from burnish.checks.environment import check_environment
from burnish.checks.guard.commands import build_files, possible_test_programs, scripts_behind, test_programs
from burnish.checks.guard.edited_tests import (
    belongs_to_tests,
    data_of_tests,
    edited_tests,
    edits_constants,
    possible_data,
    with_old_constants,
)
from burnish.checks.guard.expected_values import CODE, TEXTS_WITH_EXAMPLES, split_tests
from burnish.checks.guard.guard import guard, has_text, reads
from burnish.checks.guard.shadowing import MAKEFILES, guarded_trees, settings_beside
from burnish.checks.import_origins import PYTEST_SETTINGS
from burnish.checks.python_environments import environment_modules
from burnish.core.base_tests import EditedTests
from burnish.core.change import Change
from burnish.core.check import Comparison
from burnish.core.finding import Remark
from burnish.engine.ports import Reads
from burnish.git.objects import list_links
from burnish.git.project import Project


def guard_change(
    trees: TreeChecks,
    change: Change,
    *,
    comparisons: tuple[Comparison, ...],
    old: Reads,
    new: Reads,
    levels: Mapping[str, str],
) -> tuple[Remark, ...]:
    """What of the change makes it easier to pass; `old` and `new` read files at the base and now."""
    old_files = list_links(trees.project, change.old_tree)
    new_files = list_links(trees.project, change.new_tree)
    commands = tuple(comparison.report.command for comparison in comparisons)
    files = [file for file in change.files if reads(file)]
    related_files = [*settings_beside(change.paths, {**old_files, **new_files}), *PYTEST_SETTINGS, *MAKEFILES]
    # One git call for all old files, one for all new files.
    before = texts(old, [*(f.old_path or f.path for f in files if f.status != "A"), *related_files])
    after = texts(new, [*(f.path for f in files if f.status != "D"), *related_files])
    preparing = _preparing_commands(trees, change.old_tree)
    scripts = (
        scripts_behind((*commands, *preparing), tree, partial(texts, reader))
        for tree, reader in ((old_files, old), (new_files, new))
    )
    return guard(
        change,
        comparisons=comparisons,
        old_text=before.get,
        new_text=after.get,
        levels=levels,
        agent_files=PROJECT_FILES,
        trees=guarded_trees(
            old_files,
            new_files,
            installed_names=_installed_modules(trees, commands),
            commands=commands,
            preparing=preparing,
            scripts=frozenset().union(*scripts),
        ),
    )


# In larger repositories, only folders and names tell which data belongs to tests.
_MAX_CODE_FILES = 2000


def tests_edited_by(
    project: Project, change: Change, commands: Sequence[str], *, old: Reads, new: Reads
) -> tuple[EditedTests, ...]:
    """The trees that the tests of the base are run on: with the tests of the base, and with its constants, too."""
    # sources with tests beside the code, texts with examples, and modules that may be data of tests
    files = [
        file
        for file in change.files
        if has_text(file) and (CODE.search(file.path) or (file.old_path or file.path).endswith(TEXTS_WITH_EXAMPLES))
    ]
    before = texts(old, [file.old_path or file.path for file in files if file.status != "A"])
    after = texts(new, [file.path for file in files if file.status in "AMR"])
    data: tuple[str, ...] = ()
    of_tests: list[str] = []
    if possible_data(change, before.get) or edits_constants(change, before.get, after.get):
        paths = [path for path, link in list_links(project, change.old_tree).items() if not link and CODE.search(path)]
        code = texts(old, paths) if len(paths) <= _MAX_CODE_FILES else {}
        others = {path: split_tests(path, text) for path, text in code.items() if not belongs_to_tests(path)}
        of_tests = [others[path][0] if path in others else text for path, text in code.items()]
        data = data_of_tests(change, before.get, of_tests, [rest for _, rest in others.values()])
    edits = [edited_tests(change, before.get, after.get, data=data)]
    possible = [path for path in possible_test_programs(change) if not belongs_to_tests(path)]
    commands_of_tests = texts(old, build_files(list_links(project, change.old_tree))) if possible else {}
    if programs := test_programs(possible, commands, commands_of_tests):
        # on a tree of their own: one of them may be the program that is tested
        edits.append(edited_tests(change, before.get, after.get, data=(*data, *programs)))
    constants = with_old_constants(change, before.get, after.get, of_tests, data=data)
    return tuple(one for one in (*dict.fromkeys(edits), constants) if one.paths)


def _preparing_commands(trees: TreeChecks, base: str) -> list[str]:
    """The commands that run before the checks: set-up and build."""
    commands = [command for command in (trees.setup, trees.build_for(base)) if command]
    return [command if isinstance(command, str) else shlex.join(command) for command in commands]


def _installed_modules(trees: TreeChecks, commands: Sequence[str]) -> frozenset[str]:
    """Modules that checks can import from the environments of the checkout, of set-up, and on PATH."""
    checkout = trees.project.root
    layers = sorted((trees.home / "environments" / trees.key).glob("*"))
    path = check_environment(os.environ, roots=(checkout,))["PATH"]
    return environment_modules((checkout, *layers), path=path, home=Path.home(), commands=commands)


def texts(read: Reads, paths: Sequence[str]) -> dict[str, str]:
    found = read(paths) if paths else {}
    return {path: data.decode(errors="replace") for path, data in found.items() if data is not None}
