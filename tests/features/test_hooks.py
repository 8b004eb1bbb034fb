"""Hooks go into files that are somebody else's, and come out of them without a trace."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from burnish.agents.registry import STOP_HOOKS
from burnish.errors import BadInput, BurnishError, Refused
from burnish.features.hooks.install import install, uninstall
from burnish.features.hooks.programs import GIVE_UP
from burnish.features.hooks.stop import read_stopping, remembered
from burnish.features.hooks.user_files import put_block, put_entry, take_block, take_entry
from testing.long_forms import examples
from testing.userrepo import UserRepo

AGENTS = tuple(STOP_HOOKS)
OWN = {
    "claude": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "qwen": ".qwen/settings.json",
    "copilot": ".copilot/hooks/burnish.json",
    "opencode": ".config/opencode/plugin/burnish.js",
}
# the others have an entry in a JSON file
ENTRIES_IN_JSON = tuple(name for name, hook in STOP_HOOKS.items() if not hook.script)
TEXT = st.text(max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
COMMANDS = st.fixed_dictionaries({"type": st.just("command"), "command": TEXT}, optional={"timeout": st.integers()})
ENTRIES = st.lists(
    st.fixed_dictionaries({"hooks": st.lists(COMMANDS, max_size=3)}, optional={"matcher": TEXT}), max_size=3
)
HOOKS = st.dictionaries(st.sampled_from(["Stop", "AfterAgent", "agentStop", "PreToolUse"]), ENTRIES)
SETTINGS = st.builds(
    lambda rest, hooks: rest | hooks,
    st.dictionaries(TEXT.filter(lambda key: key != "hooks"), VALUES, max_size=4),
    st.fixed_dictionaries({}, optional={"hooks": HOOKS}),
)
INDENTS = st.sampled_from([None, 2, 4, "\t"])


def put(repo: UserRepo, name: str, *, everywhere: bool = False, dry_run: bool = False) -> Any:
    return install(repo.path, name, everywhere=everywhere, dry_run=dry_run)


def take(repo: UserRepo, name: str, *, everywhere: bool = False, dry_run: bool = False) -> Any:
    return uninstall(repo.path, name, everywhere=everywhere, dry_run=dry_run)


def everything(*folders: Path) -> dict[str, tuple[int, bytes]]:
    """Each file below, apart from what burnish keeps for itself."""
    paths = [path for folder in folders for path in (folder, *folder.rglob("*")) if "burnish" not in path.parts]
    return {str(p): (p.stat().st_mode, p.read_bytes() if p.is_file() else b"") for p in paths}


def hook_in(path: Path, name: str) -> dict[str, Any]:
    hook = STOP_HOOKS[name]
    (entry,) = json.loads(path.read_text())["hooks"][hook.event]
    return dict(entry if hook.flat else entry["hooks"][0])


@pytest.mark.parametrize("name", ENTRIES_IN_JSON)
def test_each_agent_is_told_in_its_own_file_and_way(user_repo: UserRepo, hermetic: Path, name: str) -> None:
    done = put(user_repo, name, everywhere=True)
    path = hermetic / OWN[name]
    assert [edit.path for edit in done.edits] == [path]
    said = hook_in(path, name)
    command = said["bash" if name == "copilot" else "command"]
    assert command.endswith(f"hook run {name} || true")
    assert Path(shlex.split(command)[0]).is_absolute() and Path(shlex.split(command)[0]).exists()
    seconds = said["timeoutSec" if name == "copilot" else "timeout"] / (1000 if name in ("gemini", "qwen") else 1)
    assert seconds > GIVE_UP and seconds * 1000 < 2**31
    assert said["type"] == "command"
    assert name != "copilot" or json.loads(path.read_text())["version"] == 1


def test_opencode_gets_a_plugin_and_another_file_of_that_name_is_left_alone(
    user_repo: UserRepo, hermetic: Path
) -> None:
    before = everything(user_repo.path)
    done = put(user_repo, "opencode")
    path = user_repo.path / ".opencode/plugin/burnish.js"
    assert done.edits[0].path == path and any("start it again" in note for note in done.notes)
    text = path.read_text()
    command = json.loads(next(line for line in text.splitlines() if line.startswith("const COMMAND"))[16:])
    assert command.endswith("hook run opencode || true") and "{seconds}" not in text and "{command}" not in text
    assert not user_repo.git("status", "--porcelain", "-uall")
    assert not put(user_repo, "opencode").changes
    take(user_repo, "opencode")
    assert not path.exists()
    put(user_repo, "opencode", everywhere=True)
    assert (hermetic / OWN["opencode"]).exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("export const Mine = async () => ({})\n")
    with pytest.raises(Refused, match="is not burnish's"):
        put(user_repo, "opencode")
    take(user_repo, "opencode")
    assert path.exists() and set(before) <= set(everything(user_repo.path))


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
@pytest.mark.parametrize("arguments", [(), ("run",)])
@pytest.mark.parametrize(("answer", "count"), [('{"decision": "block", "reason": "Fix it."}', 1), ("", 0), ("{", 0)])
def test_the_plugin_sends_the_findings_as_another_message(
    tmp_path: Path, arguments: tuple[str, ...], answer: str, count: int
) -> None:
    """With events as opencode 1.18.33 sends them: of a helper's session, of a step, and of the end, twice."""
    command = f"cat >> {tmp_path / 'asked'}; printf '%s' '{answer}'"
    (tmp_path / "plugin.mjs").write_text(STOP_HOOKS["opencode"].script_with(command, 30))
    events = [
        {"type": "session.created", "properties": {"info": {"id": "helper", "parentID": "s1"}}},
        *(
            {"type": "message.updated", "properties": {"info": info}}
            for info in (
                {"id": "m1", "sessionID": "helper", "role": "assistant", "finish": "stop"},
                {"id": "m2", "sessionID": "s1", "role": "assistant", "finish": "tool-calls"},
                {"id": "m3", "sessionID": "s1", "role": "user", "finish": "stop"},
                {"id": "m4", "sessionID": "s1", "role": "assistant", "finish": "stop"},
                {"id": "m4", "sessionID": "s1", "role": "assistant", "finish": "stop"},
            )
        ),
    ]
    main = (
        'import { Burnish } from "./plugin.mjs"\nconst sent = []\n'
        "const client = { session: { promptAsync: async (one) => sent.push(one) } }\n"
        'const { event } = await Burnish({ client, directory: "/w" })\n'
        f"for (const one of {json.dumps(events)}) await event({{ event: one }})\n"
        "console.log(JSON.stringify(sent))\n"
    )
    (tmp_path / "main.mjs").write_text(main)
    done = subprocess.run(
        ["node", "main.mjs", *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert (tmp_path / "asked").read_text() == '{"session_id":"s1","cwd":"/w"}'
    body = {"path": {"id": "s1"}, "body": {"parts": [{"type": "text", "text": "Fix it."}]}}
    assert json.loads(done.stdout) == [body] * count


def test_a_project_has_files_of_its_own_where_the_program_knows_such(user_repo: UserRepo, hermetic: Path) -> None:
    for name, file in (
        ("claude", ".claude/settings.local.json"),
        ("gemini", ".gemini/settings.json"),
        ("qwen", ".qwen/settings.json"),
    ):
        assert put(user_repo, name).edits[0].path == user_repo.path / file
    for name in ("codex", "copilot"):
        done = put(user_repo, name)
        assert done.edits[0].path == hermetic / OWN[name]
        assert "all projects" in done.notes[-1]


def test_variables_that_move_an_agents_home_are_respected(
    user_repo: UserRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "elsewhere"))
    assert put(user_repo, "codex").edits[0].path == tmp_path / "elsewhere" / "hooks.json"


@pytest.mark.parametrize("name", (*AGENTS, "git"))
def test_in_and_out_again_leaves_no_trace_and_twice_is_once(user_repo: UserRepo, hermetic: Path, name: str) -> None:
    before = everything(user_repo.path, hermetic)
    put(user_repo, name)
    once = everything(user_repo.path, hermetic)
    assert once != before
    assert not put(user_repo, name).changes
    assert everything(user_repo.path, hermetic) == once
    take(user_repo, name)
    assert everything(user_repo.path, hermetic) == before
    assert not take(user_repo, name).changes


@pytest.mark.parametrize("name", (*AGENTS, "git"))
def test_a_dry_run_shows_the_difference_and_writes_nothing(user_repo: UserRepo, hermetic: Path, name: str) -> None:
    before = everything(user_repo.path, hermetic)
    done = put(user_repo, name, dry_run=True)
    assert f"hook run {name}" in done.edits[0].diff() and done.edits[0].diff().startswith("--- /dev/null")
    assert everything(user_repo.path, hermetic) == before
    assert not (hermetic / "burnish").exists()
    put(user_repo, name)
    installed = everything(user_repo.path, hermetic)
    assert "+++ /dev/null" in take(user_repo, name, dry_run=True).edits[0].diff()
    assert everything(user_repo.path, hermetic) == installed


def test_hooks_of_several_agents_come_out_one_by_one(user_repo: UserRepo, hermetic: Path) -> None:
    before = everything(user_repo.path, hermetic)
    for name in ("claude", "gemini", "qwen"):
        put(user_repo, name)
    assert user_repo.git("status", "--short") == ""  # nothing of it looks like work
    take(user_repo, "claude")
    assert user_repo.git("status", "--short") == ""
    take(user_repo, "qwen")
    take(user_repo, "gemini")
    assert everything(user_repo.path, hermetic) == before


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=SETTINGS, indent=INDENTS, end=st.sampled_from(["", "\n", " \n\n"]), plain=st.booleans())
@pytest.mark.parametrize("name", ENTRIES_IN_JSON)
def test_any_settings_come_back_byte_for_byte(
    user_repo: UserRepo, monkeypatch: pytest.MonkeyPatch, name: str, value: Any, indent: Any, end: str, plain: bool
) -> None:
    hook = STOP_HOOKS[name]
    before = (json.dumps(value, indent=indent, ensure_ascii=plain) + end).encode("utf-8", "replace")
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("HOME", folder)
        path = Path(folder, OWN[name])
        path.parent.mkdir(parents=True)
        path.write_bytes(before)
        path.chmod(0o640)
        put(user_repo, name, everywhere=True)
        after = json.loads(path.read_bytes())
        put(user_repo, name, everywhere=True)
        assert json.loads(path.read_bytes()) == after
        # everything else is still there, in its order
        assert json.loads(take_entry(path.read_bytes(), hook, path)) == without_empty(json.loads(before), name)
        assert list(after)[: len(json.loads(before))] == list(json.loads(before))
        take(user_repo, name, everywhere=True)
        assert path.read_bytes() == before and path.stat().st_mode & 0o777 == 0o640


def without_empty(value: dict[str, Any], name: str) -> dict[str, Any]:
    """What taking our entry out of an edited file may not restore: containers that were empty before."""
    hook = STOP_HOOKS[name]
    if hook.flat:
        value.setdefault("version", 1)
    if "hooks" in value and not value["hooks"].get(hook.event, [1]):
        del value["hooks"][hook.event]
    if value.get("hooks") == {}:
        del value["hooks"]
    return value


def test_a_file_that_was_edited_since_keeps_the_edit(user_repo: UserRepo) -> None:
    path = user_repo.path / ".claude" / "settings.local.json"
    path.parent.mkdir()
    path.write_text('{"model": "x"}')
    put(user_repo, "claude")
    said = json.loads(path.read_text())
    said["model"] = "y"
    said["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "beep"}]})
    path.write_text(json.dumps(said))
    done = take(user_repo, "claude")
    assert json.loads(path.read_text()) == {
        "model": "y",
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "beep"}]}]},
    }
    assert "was edited since" in done.notes[0]


def test_a_file_made_for_the_hook_goes_even_if_the_program_wrote_its_version_into_it(user_repo: UserRepo) -> None:
    put(user_repo, "qwen")
    path = user_repo.path / ".qwen" / "settings.json"
    (path.parent / "settings.json.orig").write_bytes(path.read_bytes())
    path.write_text(json.dumps(json.loads(path.read_text()) | {"$version": 4}))
    assert user_repo.git("status", "--short") == ""
    take(user_repo, "qwen")
    assert not path.exists()


def test_a_hook_that_names_another_burnish_is_replaced_and_the_first_state_stays_known(user_repo: UserRepo) -> None:
    path = user_repo.path / ".claude" / "settings.local.json"
    path.parent.mkdir()
    path.write_text('{ "model":"x" }')
    put(user_repo, "claude")
    moved = path.read_text().replace(sys.executable, "/old/python")
    path.write_text(moved)
    assert put(user_repo, "claude").changes
    assert moved.count("hook run claude") == path.read_text().count("hook run claude") == 1
    assert sys.executable in path.read_text()
    take(user_repo, "claude")
    assert json.loads(path.read_text()) == {"model": "x"}


def test_without_the_memory_of_the_install_only_our_entry_goes(user_repo: UserRepo, hermetic: Path) -> None:
    (hermetic / ".codex").mkdir()
    path = hermetic / ".codex" / "hooks.json"
    path.write_text('{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "beep"}]}]}}')
    put(user_repo, "codex")
    for kept in (hermetic / "burnish" / "hooks" / "backups").iterdir():
        kept.unlink()
    take(user_repo, "codex")
    assert hook_in(path, "codex")["command"] == "beep"


@pytest.mark.parametrize(
    "text", ["// a comment\n{}", '{"a": 1, "a": 2}', "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', '{"a": 1e999}']
)
def test_what_cannot_be_kept_is_not_touched(user_repo: UserRepo, text: str) -> None:
    path = user_repo.path / ".claude" / "settings.local.json"
    path.parent.mkdir()
    path.write_text(text)
    before = everything(user_repo.path)
    with pytest.raises(BadInput, match=r"settings\.local\.json"):
        put(user_repo, "claude")
    assert everything(user_repo.path) == before


@pytest.mark.parametrize("where", [".git/hooks/post-commit", ".claude/settings.local.json"])
@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_what_is_no_file_is_named_and_not_waited_for(
    user_repo: UserRepo, hermetic: Path, where: str, kind: str
) -> None:
    path = user_repo.path / where
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path) if kind == "pipe" else path.mkdir()
    for verb in (install, uninstall):
        with pytest.raises(BurnishError, match="is not a regular file"):
            verb(user_repo.path, "git" if "hooks" in where else "claude", everywhere=False, dry_run=True)


def test_a_git_hook_that_is_a_link_is_not_read(user_repo: UserRepo, hermetic: Path) -> None:
    os.mkfifo(hermetic / "pipe")
    path = user_repo.path / ".git" / "hooks" / "post-commit"
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(hermetic / "pipe")
    with pytest.raises(Refused, match="is a link to"):
        install(user_repo.path, "git", everywhere=False, dry_run=True)


def test_a_link_is_followed_within_the_checkout_and_not_out_of_it(user_repo: UserRepo, hermetic: Path) -> None:
    (hermetic / "mine.json").write_text("{}")
    (user_repo.path / ".claude").mkdir()
    link = user_repo.path / ".claude" / "settings.local.json"
    link.symlink_to(hermetic / "mine.json")
    with pytest.raises(BadInput, match="leads out of the checkout"):
        put(user_repo, "claude")
    link.unlink()
    (user_repo.path / "kept.json").write_text("{}")
    link.symlink_to("../kept.json")
    put(user_repo, "claude")
    assert link.is_symlink() and "hook run claude" in (user_repo.path / "kept.json").read_text()
    take(user_repo, "claude")
    assert link.is_symlink() and (user_repo.path / "kept.json").read_text() == "{}"


def test_a_tracked_file_is_said_to_be_tracked(user_repo: UserRepo) -> None:
    user_repo.commit({".gemini/settings.json": "{}\n"})
    notes = put(user_repo, "gemini").notes
    assert any("is tracked" in note for note in notes)
    assert any("only in a folder that it trusts" in note for note in notes)
    take(user_repo, "gemini")
    assert user_repo.git("status", "--short") == ""


@pytest.mark.parametrize("name", [*AGENTS, "git"])
def test_an_agent_inside_a_phase_installs_nothing(
    user_repo: UserRepo, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("BURNISH_TASK", "1")
    with pytest.raises(Refused):
        put(user_repo, name)
    with pytest.raises(Refused):
        take(user_repo, name)


@given(text=st.binary(max_size=80), shebang=st.booleans())
def test_marked_lines_go_in_once_and_out_without_a_trace(text: bytes, shebang: bool) -> None:
    before = (b"#!/bin/sh\n" if shebang else b"") + text
    if not shebang and text.startswith(b"#!"):
        return
    inside = put_block(before, "git", ["one", "two"])
    assert put_block(inside, "git", ["one", "two"]) == inside
    assert put_block(inside, "git", ["other"]).count(b">>> burnish git >>>") == 1
    assert take_block(inside, "git") == before
    assert take_block(inside, "claude") == inside


def test_the_entry_is_found_wherever_a_person_has_moved_it() -> None:
    hook, path = STOP_HOOKS["claude"], Path("settings.json")
    first = json.loads(put_entry(None, hook, "/x/burnish hook run claude || true", path))
    mine = first["hooks"]["Stop"][0]["hooks"][0]
    moved = {"hooks": {"Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "beep"}, mine]}]}}
    left = json.loads(take_entry(json.dumps(moved).encode(), hook, path))
    assert left == {"hooks": {"Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "beep"}]}]}}


@pytest.mark.parametrize("cwd", ["/" + "a" * 5000, "/\0", "/\ud800", ".", "", None, 7])
def test_a_forged_folder_does_not_count(cwd: object) -> None:
    assert read_stopping(json.dumps({"session_id": "one", "cwd": cwd}).encode()).cwd is None


def test_a_session_name_that_is_not_valid_text_is_remembered_like_any_other(tmp_path: Path) -> None:
    for _ in range(2):
        with remembered(tmp_path / "sessions", "claude", "\ud800../..", tmp_path) as memory:
            memory.rounds += 1
    assert memory.rounds == 2
    assert len(list((tmp_path / "sessions").iterdir())) == 1
