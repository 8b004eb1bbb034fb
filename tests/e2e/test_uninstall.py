"""`burnish uninstall`: lists what is stored, and leaves a machine as it was before burnish."""

from __future__ import annotations

import hashlib
from importlib import import_module
from pathlib import Path

import pytest

from testing.attack_counts import CountAttacks
from testing.lab import Lab

pytestmark = pytest.mark.slow


def files(folder: Path, *ignored: str) -> dict[str, str]:
    """Every file and folder with a hash of its content."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in sorted(folder.rglob("*"))
        if not str(path.relative_to(folder)).startswith(ignored)
    }


def used(root: Path) -> tuple[Lab, dict[str, str], dict[str, str]]:
    """A machine on which most of what burnish can store is stored; and its files before."""
    lab = Lab.make(root)
    home, repo = root / "home", lab.repo.path
    (home / ".bashrc").write_text("alias ll='ls -l'\n")
    lab.repo.commit({"notes.md": "x\n"}, "notes")
    before = files(home, "burnish", ".config/burnish"), files(repo, ".git/objects", ".git/index")
    lab.user_settings("review: {max_cycles: 2}\n")
    for command in (
        ("hook", "install", "git"),
        ("hook", "install", "claude"),
        ("hook", "install", "codex", "--global"),
    ):
        lab.burnish(*command)
    lab.burnish("service", "--install")
    script = home / ".bash_completions" / "burnish.sh"
    script.parent.mkdir()
    script.write_text("# completion\n")
    with (home / ".bashrc").open("a") as file:
        file.write(f"source '{script}'\n")
    lab.add("Add division")
    lab.burnish("run", "1")
    return lab, *before


def test_on_a_machine_without_burnish_no_folder_is_listed(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    lab.burnish("uninstall", "--yes")
    for command in (("uninstall",), ("uninstall", "--yes")):
        shown = lab.burnish(*command)
        assert shown.out == "burnish has stored nothing on this machine.\n" and shown.err == ""
    assert not (tmp_path / "home" / "burnish").exists()
    lab.user_settings("review: {max_cycles: 2}\n")
    shown = lab.burnish("uninstall")
    assert ".config/burnish" in shown.out and "home/burnish" not in shown.out


def test_without_yes_everything_is_listed_and_nothing_changes(tmp_path: Path) -> None:
    lab, _, _ = used(tmp_path)
    before = files(tmp_path, "home/burnish/locks", "home/burnish/burnish.db")

    shown = lab.burnish("uninstall")

    for words in (
        "home/burnish",
        ".config/burnish",
        "post-commit",
        ".claude",
        "burnish-",
        "refs in",
        "Not merged (kept",
    ):
        assert words in shown.out, words
    assert "Nothing was removed" in shown.err
    assert files(tmp_path, "home/burnish/locks", "home/burnish/burnish.db") == before


def test_a_machine_is_as_before_byte_for_byte(tmp_path: Path) -> None:
    lab, home_before, repo_before = used(tmp_path)
    start = lab.repo.git("rev-parse", "main")
    lab.burnish("merge", "1")
    main = lab.repo.git("rev-parse", "main")
    lab.repo.git("reset", "-q", "--hard", start)

    done = lab.burnish("uninstall", "--yes", "--unmerged", "--json").json

    assert done["removed"] and done["foreign"] == []
    home, repo = tmp_path / "home", lab.repo.path
    assert not (home / "burnish").exists() and not (home / ".config" / "burnish").exists()
    after = files(home, ".config", ".bash_completions")
    assert after == {name: value for name, value in home_before.items() if not name.startswith(".config")}
    ignored = (".git/logs", ".git/ORIG_HEAD", ".git/refs", ".git/objects", ".git/index")
    assert files(repo, *ignored) == {name: value for name, value in repo_before.items() if not name.startswith(ignored)}
    assert "burnish" not in lab.repo.git("for-each-ref") and not list(repo.glob(".git/objects/pack/*.keep"))
    # what was merged is the user's
    assert lab.repo.git("cat-file", "-t", main) == "commit"


def test_work_that_is_not_merged_and_uncommitted_work_stay(tmp_path: Path) -> None:
    lab, _, _ = used(tmp_path)
    commit, branch = lab.task()["commit"], lab.task()["branch"]
    workspace = Path(lab.burnish("path", "1").out.strip())
    (workspace / "draft.txt").write_text("not committed\n")
    (tmp_path / "home" / "burnish" / "mine.txt").write_text("of the user\n")

    done = lab.burnish("uninstall", "--yes").out

    assert "Not merged, and kept" in done and lab.repo.git("rev-parse", branch) == commit
    refs = lab.repo.git("for-each-ref", "--format=%(refname)").split()
    (rescue,) = [ref for ref in refs if ref.startswith("refs/burnish/")]
    assert lab.repo.git("show", f"{rescue}:draft.txt") == "not committed"
    assert [path.name for path in (tmp_path / "home" / "burnish").iterdir()] == ["mine.txt"]


def test_it_refuses_while_a_run_is_active(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author="time.sleep(30)")
    lab.add("Add division")
    with lab.start("run", "1") as run:
        lab.until(
            lambda: bool(lab.task()["running"]) if "running" in lab.task() else lab.task()["status"] == "in_progress"
        )
        refused = lab.burnish("uninstall", "--yes", code=4)
        lab.burnish("stop")
        run.communicate(timeout=60)

    assert "active" in refused.err and "burnish stop" in refused.err and (tmp_path / "home" / "burnish").is_dir()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_of_a_shell_leaves_no_line_behind(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab.make(tmp_path)
    home = tmp_path / "home"
    for name in (".bashrc", ".zshrc"):
        (home / name).write_text("alias ll='ls -l'\nexport EDITOR=vi\n")
    before = files(home, "burnish", ".config")
    install_completion(shell, home, monkeypatch)
    assert files(home, "burnish", ".config") != before or shell == "fish"
    listed = lab.burnish("uninstall").out
    assert shell == "fish" or f".{shell}rc (lines of completion)" in listed
    lab.burnish("uninstall", "--yes")
    assert files(home, "burnish", ".config") == before
    assert not (home / ".config" / "fish" / "completions").exists()


def test_lines_of_zsh_stay_if_another_program_completes_by_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab.make(tmp_path)
    home = tmp_path / "home"
    install_completion("zsh", home, monkeypatch)
    (home / ".zfunc" / "_other").write_text("#compdef other\n")
    lab.burnish("uninstall", "--yes")
    assert "fpath+=~/.zfunc" in (home / ".zshrc").read_text()
    assert [path.name for path in (home / ".zfunc").iterdir()] == ["_other"]


def install_completion(shell: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home))
    write = getattr(import_module("typer._completion_shared"), f"install_{shell}")
    write(prog_name="burnish", complete_var="_BURNISH_COMPLETE", shell=shell)


FOLDERS = ("projects/mine", "images", "hooks", "sessions", "reviews", "workspaces")


@pytest.mark.attacks("uninstall removes what is the user's", 5 * len(FOLDERS))
@pytest.mark.parametrize("place", ["home", "home/folder", "repository", "with others", "no database"])
def test_folders_of_the_user_with_names_of_burnish_stay(tmp_path: Path, place: str) -> None:
    lab = Lab.make(tmp_path)
    folder = {"home": tmp_path / "home", "repository": lab.repo.path}.get(place, tmp_path / "home" / "folder")
    lab.env["BURNISH_HOME"] = str(folder)
    if place != "no database":
        lab.trust()
        lab.add("Add division")
    for name in FOLDERS:
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "mine.txt").write_text("mine\n")
    if place == "home/folder":
        lab.env["HOME"] = str(folder / "ann")
        (folder / "ann").mkdir()
    if place == "with others":
        (folder / "letters").mkdir()

    listed = lab.burnish("uninstall")
    done = lab.burnish("uninstall", "--yes")

    assert [name for name in FOLDERS if not (folder / name / "mine.txt").exists()] == []
    for text in (listed.out, done.out):
        assert f"Kept: {folder}, because" in text


OWN_FILES = (
    "projects/website", "workspaces/x.code-workspace", "images/cat.png", "hooks/pre-commit", "reviews/paper.md",
    "environments/production", "trees/oak.txt", "snapshots/2026.tar", "answers/letter.txt", "trust/deed.pdf",
)  # fmt: skip


def test_files_of_the_user_in_folders_of_burnish_stay(tmp_path: Path, count_attacks: CountAttacks) -> None:
    lost = []
    lab, _, _ = used(tmp_path)
    home = tmp_path / "home" / "burnish"
    for name in OWN_FILES:
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text("mine\n")
        listed = lab.burnish("uninstall")
        assert f"Kept: {home}, because it has files that burnish did not create: {name}" in listed.out
        if name == OWN_FILES[-1]:
            lab.burnish("uninstall", "--yes")
            lost += [] if (home / name).exists() else [name]
        (home / name).unlink(missing_ok=True)
    count_attacks("uninstall removes what is the user's", len(OWN_FILES), len(lost))
    assert lost == []


def test_other_files_in_the_folder_of_settings_stay(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    lab.user_settings("review: {max_cycles: 2}\n")
    folder = tmp_path / "home" / ".config" / "burnish"
    (folder / "notes.txt").write_text("mine\n")

    done = lab.burnish("uninstall", "--yes")

    assert f"Not created by burnish, and kept: {folder / 'notes.txt'}" in done.out
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


def test_a_linked_file_of_the_shell_stays_a_link(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    home, dotfile = tmp_path / "home", tmp_path / "dotfiles" / "bashrc"
    script = home / ".bash_completions" / "burnish.sh"
    for folder in (script.parent, dotfile.parent):
        folder.mkdir()
    script.write_text("# completion\n")
    dotfile.write_text(f"alias ll='ls -l'\nsource '{script}'\n")
    (home / ".bashrc").symlink_to(dotfile)

    lab.burnish("uninstall", "--yes")

    assert (home / ".bashrc").is_symlink() and dotfile.read_text() == "alias ll='ls -l'\n"
