"""Compares the tools that were found with the project's own test commands, and adds what these do beyond them. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from burnish.checks.own_commands.entry import Found, OwnEntry, Reached, RunnerGroup, command_words, shell_text
from burnish.checks.own_commands.runner_calls import assignments, command_of
from burnish.checks.own_commands.step_kinds import checks_types, is_named_test
from burnish.checks.own_commands.steps import OwnCommands
from burnish.checks.own_commands.unreached import other_entries, workflow_jobs
from burnish.checks.tools import Command, ProjectFolder, ToolChoice, Tools, UnrunTests

_MAX_MORE = 10


def with_own_commands(tools: Sequence[Tools], place_of: Callable[[str], ProjectFolder]) -> tuple[Tools, ...]:
    """The tools with the variables, options and further commands of the project's own test commands."""
    result = list(tools)
    for folder in dict.fromkeys(("", *(one.folder for one in tools))):
        found = _read(result, place_of(folder))
        for index, groups in found.groups.items():
            result[index] = _with_calls(result[index], groups)
        result = _with_further(result, folder, found)
    return tuple(_without_covered(one) for one in result)


def _read(tools: Sequence[Tools], place: ProjectFolder) -> Found:
    found = Found()
    own = OwnCommands(place)
    entries = dict(own.entries())
    commands = {command_words(one.test.command) for one in tools if one.test and one.folder == place.folder}
    # Checks that run a command of the project as a whole run its steps, too.
    covered_steps = {(step.words, step.env) for entry in commands & entries.keys() for step in entries[entry]}
    for entry, steps in entries.items():
        others = [step for step in steps if (step.words, step.env) not in covered_steps]
        OwnEntry(entry, others, tools, place, found).read()
    if not any(one.test for one in tools) and not found.further:
        _add_workflows(own, tools, found)
    reached_steps = {(step.words, step.env) for steps in entries.values() for step in steps}
    _name_unreached(own, tools, found, reached_steps)
    return found


def _add_workflows(own: OwnCommands, tools: Sequence[Tools], found: Found) -> None:
    """The tests of the workflows, for a project that has no other test command."""
    for steps in workflow_jobs(own):
        entry = OwnEntry("", steps, tools, own.place, found)
        for step in steps:
            if entry.is_test(step):
                entry.add_of_workflow(step)


def _name_unreached(own: OwnCommands, tools: Sequence[Tools], found: Found, reached_steps: Reached) -> None:
    """Names tests of other targets, sessions and scripts, and those of workflows, that no test command starts."""
    commands = {command_words(choice.command) for one in tools for choice in (one.test, *one.more_tests) if choice}
    for command, file in other_entries(own):
        steps = own.steps_of(command, file)
        entry = OwnEntry(command, steps, tools, own.place, found)
        if command not in commands and any(entry.is_unreached(step, reached_steps) for step in steps):
            entry.leave_out(command, command, f"no test command starts this one of {file}")
    for steps in workflow_jobs(own):
        entry = OwnEntry("", steps, tools, own.place, found)
        runs_tests = any(map(entry.call_of, steps))
        # types, and tests of another part, often have a job of their own
        for step in (
            step for step in steps if step.words and (runs_tests or checks_types(step) or is_named_test(step))
        ):
            if step.words[0] not in ("make", "tox", "nox", "just") and entry.is_unreached(step, reached_steps):
                text = shell_text(step, own.place.folder)
                entry.leave_out(text, text, f"{step.file} runs it")


def _with_calls(tools: Tools, groups: list[RunnerGroup]) -> Tools:
    """The tools with the variables and options of the project's own calls of their runner."""
    groups = [one for one in groups if not any(_replaces(other, one) for other in groups)]
    if not tools.test or not groups:
        return tools
    bare = tools.test.command
    first = next((one for one in groups if one.call.adds_nothing), groups[0])
    test = tools.test if first.call.adds_nothing else _choice(tools.test, bare, first, ())
    more = [_choice(tools.test, _without_paths(bare), one, one.selection) for one in groups if one is not first]
    env = first.call.env
    others = [
        ToolChoice(f"{assignments(env)}{command_words(choice.command)}", choice.why) if env else choice
        for choice in tools.more_tests
    ]
    return replace(tools, test=test, more_tests=(*others, *more[:_MAX_MORE]))


def _replaces(group: RunnerGroup, other: RunnerGroup) -> bool:
    """True if a group runs the same tests with more options. Calls of one command are all meant."""
    return group.call.includes(other.call) and not set(group.entries) & set(other.entries)


def _choice(test: ToolChoice, bare: Command, group: RunnerGroup, selection: Iterable[str]) -> ToolChoice:
    command = command_of(bare, group.call, () if group.runs_all else tuple(dict.fromkeys(selection)))
    entry = group.entries[0]
    return ToolChoice(command, f"{test.why}, as `{entry}` in {group.file} runs it")


def _without_paths(bare: Command) -> Command:
    """The command without folders that a selection replaces."""
    if isinstance(bare, tuple) and "pytest" in bare:
        end = bare.index("pytest") + 1
        return (*bare[:end], *(word for word in bare[end:] if word == "-q"))
    return bare


def _with_further(tools: list[Tools], folder: str, found: Found) -> list[Tools]:
    """The tools with further commands, at the part of the folder that has most code."""
    if not found.further and not found.unrun:
        return tools
    indexes = [index for index, one in enumerate(tools) if one.folder == folder and one.test]
    if not indexes:
        indexes = [index for index, one in enumerate(tools) if one.folder == folder]
    further = found.further[:_MAX_MORE]
    too_many = [
        UnrunTests(command_words(one.command), command_words(one.command), one.why) for one in found.further[_MAX_MORE:]
    ]
    names = {one.what for some in tools if some.folder == folder for one in some.unrun_tests}
    unrun = tuple(one for one in (*found.unrun, *too_many) if one.what not in names)
    if not indexes:
        if folder or not further:
            return [*tools, Tools(folder, "", unrun_tests=unrun)] if unrun else tools
        return [*tools, Tools("", "Scripts", further[0], more_tests=tuple(further[1:]), unrun_tests=unrun)]
    index = indexes[0]
    one = tools[index]
    test, more = (one.test, further) if one.test else (further[0] if further else None, further[1:])
    tools[index] = replace(one, test=test, more_tests=(*one.more_tests, *more), unrun_tests=(*one.unrun_tests, *unrun))
    return tools


def _without_covered(tools: Tools) -> Tools:
    """The tools without tests that were named as not run, and that a check runs now."""
    commands = [command_words(choice.command) for choice in (tools.test, *tools.more_tests) if choice]
    unrun = tuple(
        one
        for one in tools.unrun_tests
        if not any(re.search(rf"(?<![\w:/-]){re.escape(one.mark)}(?![\w:-])", text) for text in commands)
    )
    return replace(tools, unrun_tests=unrun)
