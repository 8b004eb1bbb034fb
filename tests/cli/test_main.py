"""From a command line to words and an exit code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from burnish import __version__
from burnish.cli.command_line import summary
from burnish.cli.help import SUMMARIES
from burnish.cli.main import ALIASES, VERBS, build, main
from burnish.errors import BadInput, BurnishError, Refused
from burnish.runtime.reader import home_of
from testing.userrepo import UserRepo

Capture = pytest.CaptureFixture[str]


def test_help_names_every_verb_once_and_no_alias(capsys: Capture) -> None:
    assert main(["--help"]) == 0
    groups = capsys.readouterr().out.partition("\nStart:\n")[2]
    lines = [line for line in groups.splitlines() if line.startswith("  ")]
    assert [line.split()[0] for line in lines] == [verb for verb in VERBS if verb not in ALIASES]


def test_help_shows_the_groups_in_order_and_the_five_most_used_verbs_first(capsys: Capture) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    heads = [line for line in out.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert heads == ["Options:", "Start:", "Review:", "Tasks:", "Decide:", "Merge:", "Look:", "Set up:"]
    assert list(VERBS)[:5] == ["add", "run", "status", "review", "merge"]


@pytest.mark.parametrize("verb", VERBS)
def test_the_summary_of_a_verb_is_an_imperative_phrase_that_fits_80_columns(verb: str) -> None:
    line = summary(build(verb).commands[verb])
    assert len(line) <= 64 and line[0].isupper() and not line.endswith("."), line
    assert line.split()[0] not in ("The", "A", "Also", "With")


# the verbs that are easily confused: the help of each names the others
NEIGHBOURS = {
    "decide": {"override", "waive"},
    "override": {"decide", "waive", "done"},
    "done": {"merge", "override"},
    "edit": {"override", "decide"},
    "waive": {"override", "reopen"},
    "retry": {"improve", "decide", "run"},
    "improve": {"review", "retry", "decide"},
    "review": {"improve"},
    "rebase": {"merge"},
}


@pytest.mark.parametrize("verb", NEIGHBOURS)
def test_the_help_of_a_verb_says_when_to_use_its_neighbour(verb: str) -> None:
    text = build(verb).commands[verb].help
    assert {name for name in NEIGHBOURS[verb] if f"`burnish {name}" not in text} == set()


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_and_argument_has_a_help_text(verb: str) -> None:
    params = [param for param in build(verb).commands[verb].params if not getattr(param, "hidden", False)]
    assert [param.name for param in params if not getattr(param, "help", None)] == []


def test_texts_name_only_options_that_their_command_has() -> None:
    root, missing, count = Path(__file__).parents[2], [], 0
    named = re.compile(r"""burnish (?:-C \S+ )?([a-z]+)((?: [^`"'\n;|,]*?)?)(?=[`"'\n;|.,:)(]|$)""")
    for file in (one for kind in ("*.py", "*.j2", "*.js", "*.md") for one in (root / "src").rglob(kind)):
        # a literal may go on in the next line
        text = re.sub(r"""["']\n\s*f?["']""", "", file.read_text())
        for verb, words in (match.groups() for match in named.finditer(text) if match[1] in VERBS):
            options = re.findall(r"(?<![\w-])--[a-z][\w-]*", words)
            count += len(options)
            known = {"--help", *_options(build(verb).commands[ALIASES.get(verb, verb)])} if options else set()
            missing += [f"{file.relative_to(root)}: burnish {verb} {one}" for one in options if one not in known]
    assert not missing and count > 100


def _options(command: Any) -> set[str]:
    """Of a command, or of all commands below it."""
    below = [option for one in getattr(command, "commands", {}).values() for option in _options(one)]
    return {*below, *(name for param in command.params for name in (*param.opts, *param.secondary_opts))}


def test_help_lists_all_verbs_also_beside_version(capsys: Capture) -> None:
    assert main(["--help", "--version"]) == 0
    assert "\nStart:\n" in capsys.readouterr().out


def test_nothing_typed_is_a_wish_for_help(capsys: Capture) -> None:
    assert main([]) == 0
    assert "Usage: burnish" in capsys.readouterr().out


@pytest.mark.representatives(5)
@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_has_help_for_itself_and_all_its_options(verb: str, capsys: Capture) -> None:
    assert main([verb, "-h"]) == 0
    out = capsys.readouterr().out
    assert f"Usage: burnish {verb}" in out and "-C DIR" in out


def test_a_verb_alone_is_the_same_as_among_all() -> None:
    whole = build()
    for verb in VERBS:
        alone = build(verb).commands[verb]
        assert [p.opts for p in alone.params] == [p.opts for p in whole.commands[verb].params]


@pytest.mark.representatives(5)
@pytest.mark.parametrize("verb", [v for v in VERBS if v not in ("work", "tui", "help", "mcp")])
def test_every_command_that_shows_something_can_say_it_in_json(verb: str) -> None:
    assert any("--json" in param.opts for param in build(verb).commands[verb].params)


def test_the_version_is_told_in_words_and_in_json(capsys: Capture) -> None:
    assert main(["version"]) == main(["--version"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second and first.startswith(f"burnish {__version__} ")
    assert main(["version", "--json"]) == 0
    assert f'"version": "{__version__}"' in capsys.readouterr().out


@pytest.mark.representatives(6)
@pytest.mark.parametrize(
    ("argv", "what"),
    [
        (["frobnicate"], "frobnicate"),
        (["version", "--frob"], "--frob"),
        (["show"], "TASK"),
        (["add"], "TITLE"),
        (["add", "x", "-t", "wish"], "wish"),
        (["run", "-j", "0"], "parallel"),
        (["show", "nonsense"], "nonsense"),
        (["run", "29x"], "29x"),
        (["run", "1", "--all"], "--all"),
        (["run", "--tui"], "terminal"),
        (["add", "  "], "title"),
        (["add", "x", "-d", "a", "--file", "b"], "twice"),
        (["add", "two", "words"], "words"),
        (["add", "x", "--file", "/no/such/file"], "/no/such/file"),
        (["add", "x", "-t", "improve"], "improve"),
        (["add", "x", "--of", "3"], "--of"),
        (["edit", "1", "--verdict", "APPROVED"], "reason"),
        (["show", "review-cycle://29/../../etc/passwd"], "Invalid artifact"),
        (["-C", "/no/such/dir", "status"], "/no/such/dir"),
    ],
)
def test_wrong_usage_is_two_lines_and_exit_code_2(argv: list[str], what: str, capsys: Capture) -> None:
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    first, second = err.splitlines()
    assert first.startswith("error: ") and what in first
    assert second.startswith("   do: ")


@pytest.mark.parametrize("choice", ["approve", "reject", "fix", "skip"])
def test_a_decision_that_is_typed_as_a_command_leads_to_decide(choice: str, capsys: Capture) -> None:
    assert main([choice, "2"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    # `improve`, which is similar to `approve`, would start a run
    assert first == f"error: No such command '{choice}'."
    assert second == f"   do: Decide on a task with `burnish decide ID {choice}`."


@pytest.mark.parametrize("error", [BurnishError, BadInput, Refused])
def test_an_error_the_user_can_fix_keeps_its_exit_code(
    error: type[BurnishError], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def version() -> None:
        raise error("The lid is stuck.\x1b[2J", hint="Turn it left.")

    monkeypatch.setattr("burnish.cli.version.version", version)
    assert main(["version"]) == error.exit_code
    assert capsys.readouterr().err == "error: The lid is stuck.\n   do: Turn it left.\n"


def _explode() -> None:
    raise ZeroDivisionError("by nought\nand more")


def test_a_bug_is_called_a_bug_and_keeps_its_traceback_for_debug(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr("burnish.cli.version.version", _explode)
    assert main(["version"]) == 3
    first, second = capsys.readouterr().err.splitlines()
    assert first == "error: This is a bug in burnish: ZeroDivisionError: by nought" and "--debug" in second
    for argv in (["--debug", "version"], ["version", "--debug"]):
        assert main(argv) == 3
        assert "in _explode" in capsys.readouterr().err


def test_an_interruption_is_130_and_a_number_is_an_exit_code(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    def seven() -> int:
        return 7

    monkeypatch.setattr("burnish.cli.version.version", interrupted)
    assert main(["version"]) == 130
    assert capsys.readouterr().err == "Interrupted.\n"
    monkeypatch.setattr("burnish.cli.version.version", seven)
    assert main(["version"]) == 7


def burnish(*argv: str, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "burnish.cli", *argv]
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload,no-any-return]


def test_a_reader_that_has_seen_enough_is_not_complained_about() -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "burnish.cli", "--help"], stdout=write, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_terminal_that_knows_only_ascii_gets_no_traceback() -> None:
    done = burnish("show", "✓", env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert done.returncode == 2 and "Traceback" not in done.stderr


def test_colour_is_for_terminals_and_only_where_it_is_wanted() -> None:
    forced = {**os.environ, "FORCE_COLOR": "1"}
    assert "\x1b" not in burnish("show", "x", env=forced).stderr  # NO_COLOR is set in every test, and wins
    forced.pop("NO_COLOR")
    assert "\x1b[31m" in burnish("show", "x", env=forced).stderr
    forced.pop("FORCE_COLOR")
    assert "\x1b" not in burnish("show", "x", env=forced).stderr


def test_the_shell_is_offered_the_verbs(tmp_path: Path) -> None:
    asked = {"_BURNISH_COMPLETE": "complete_bash", "COMP_WORDS": "burnish st", "COMP_CWORD": "1"}
    done = burnish(env={**os.environ, **asked})
    assert done.stdout.split() == ["status", "stop", "stats", "store"]


def _burnish(words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    line = f'exec "{sys.executable}" -m burnish.cli {words}'
    return subprocess.run(["/bin/sh", "-c", line], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", ["version > /dev/full", "--help > /dev/full", "version --json >&-"])
def test_output_that_takes_nothing_is_told_in_two_lines_and_is_no_bug(words: str, tmp_path: Path) -> None:
    done = _burnish(words, tmp_path)
    assert done.returncode == 3, done
    first, second = done.stderr.splitlines()
    assert first.startswith("error: ") and second.startswith("   do: ") and "bug" not in done.stderr


@pytest.mark.parametrize("words", ["version 2>&-", "version <&-"])
def test_other_closed_streams_are_no_obstacle(words: str, tmp_path: Path) -> None:
    done = _burnish(words, tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("burnish "), done


def test_a_home_that_depends_on_the_directory_is_refused(
    user_repo: UserRepo, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("BURNISH_HOME", "state")
    assert main(["-C", str(user_repo.path), "status"]) == 2
    assert "BURNISH_HOME must be an absolute path (got 'state')" in capsys.readouterr().err
    assert not (user_repo.path / "state").exists()


def test_a_phase_that_does_not_exist_is_refused_with_those_that_do(user_repo: UserRepo, capsys: Capture) -> None:
    here = ["-C", str(user_repo.path)]
    assert main([*here, "add", "One"]) == 0
    assert main([*here, "log", "1", "--phase", "bogus"]) == 2
    assert "implement, improve, check, review" in capsys.readouterr().err
    assert main([*here, "log", "1", "--phase", "check"]) == 0


def test_a_task_that_was_removed_is_not_called_unknown(user_repo: UserRepo, capsys: Capture) -> None:
    here = ["-C", str(user_repo.path)]
    assert main([*here, "add", "One"]) == main([*here, "rm", "1"]) == 0
    capsys.readouterr()
    assert main([*here, "show", "1"]) == 2
    what, hint = capsys.readouterr().err.splitlines()
    assert "Task 1 was removed" in what and "burnish events 1" in hint
    assert main([*here, "events", "1"]) == 0
    assert "task.removed" in capsys.readouterr().out
    assert main([*here, "events", "1", "--since", "99"]) == 0
    for verb in ("show", "events"):
        assert main([*here, verb, "7"]) == 2
        assert "There is no task 7" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["decide", "1"], "Missing argument 'approve|reject|fix|skip'. Choose from: approve, reject, fix, skip"),
        (["decide", "1", "bogus"], "'bogus' is not one of 'approve', 'reject', 'fix', 'skip'."),
        (["decide", "1", "-m"], "Option '-m' requires an argument."),
        (["decide", "1", "reject", "too", "long"], "Unexpected argument 'too'."),
    ],
)
def test_a_slip_of_the_hand_is_told_in_two_lines_that_name_the_verb(
    argv: list[str], words: str, capsys: Capture
) -> None:
    assert main(argv) == 2
    what, hint = capsys.readouterr().err.splitlines()
    assert words in what and "Value error" not in what and "`burnish decide --help`" in hint


def test_words_without_quotes_and_missing_words_are_explained(capsys: Capture) -> None:
    assert main(["add", "Two", "words", "more"]) == 2
    what, hint = capsys.readouterr().err.splitlines()
    assert what.endswith("Unexpected argument 'more'.") and "quotes" in hint
    assert main(["show"]) == 2
    what, hint = capsys.readouterr().err.splitlines()
    assert "Missing argument 'TASK'." in what and "Usage: burnish show" in hint
    assert main(["add", "One", "--max-cycles", "x"]) == 2
    assert "'--max-cycles': a whole number is needed." in capsys.readouterr().err


def test_help_explains_commands_and_topics(capsys: Capture) -> None:
    assert main(["help"]) == 0
    assert "Topics (burnish help TOPIC):" in capsys.readouterr().out
    assert main(["help", "run"]) == 0
    by_verb = capsys.readouterr().out
    assert main(["run", "--help"]) == 0 and capsys.readouterr().out == by_verb
    assert main(["help", "files"]) == 0
    assert str(home_of()) in capsys.readouterr().out
    assert main(["help", "review"]) == 0
    both = capsys.readouterr().out
    assert both.startswith("Usage: burnish review") and "A finding keeps its id" in both
    assert main(["help", "nonsense"]) == 2
    assert "There is no command or topic 'nonsense'." in capsys.readouterr().err


@pytest.mark.parametrize("topic", SUMMARIES)
def test_a_topic_names_commands_flags_and_pages_that_exist(topic: str, capsys: Capture) -> None:
    assert main(["help", topic]) == 0
    text = capsys.readouterr().out
    commands = re.findall(r"^burnish ([a-z]+)(?: (--[a-z-]+))?", text, re.MULTILINE)
    assert len(text.splitlines()) < 200 and {verb for verb, _ in commands} <= set(VERBS)
    for verb, flag in commands:
        assert main([verb, "--help"]) == 0 and flag in capsys.readouterr().out
    pages = re.findall(r"docs/[a-z-]+\.md", text)
    assert all((Path(__file__).parents[2] / page).is_file() for page in pages)
