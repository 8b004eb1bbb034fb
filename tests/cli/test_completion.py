"""Completion in real shells: the installed scripts complete commands, options and tasks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from testing.extras import require_program
from testing.lab import Lab

pytestmark = pytest.mark.slow

# What a person types, and the shell's own way to list the completions of a line.
BASH = """
source ~/.bashrc
complete_line() {
    COMP_LINE="$1"; COMP_POINT=${#1}; read -ra COMP_WORDS <<< "$1"
    [[ "$1" == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
    $(complete -p burnish | sed 's/.*-F \\([^ ]*\\).*/\\1/') burnish "${COMP_WORDS[COMP_CWORD]}" ""
    printf '%s\\n' "${COMPREPLY[@]}"
}
complete_line "$LINE"
"""
FISH = 'source ~/.config/fish/completions/burnish.fish; complete -C "$LINE"'
# zsh completes in its line editor alone: a terminal of its own shows the list
ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; fpath+=~/.zfunc; autoload -Uz compinit; compinit -u; LISTMAX=999'
zpty -w shell "bindkey '^I' list-choices; print -r -- ready-now"
zpty -r -m shell line '*ready-now*ready-now*'
zpty -w -n shell "$LINE"$'\t'
sleep 0.3
for i in {1..60}; do
    zpty -r -t shell line && print -rn -- "$line"
    sleep 0.1
done
zpty -d shell
"""
SCRIPTS = {
    "bash": ["bash", "--norc", "-c", BASH],
    "fish": ["fish", "--no-config", "-c", FISH],
    "zsh": ["zsh", "-f", "-c", ZSH],
}


def completions(lab: Lab, shell: str, line: str) -> str:
    env = {**os.environ, **lab.env, "LINE": line, "TERM": "xterm"}
    done = subprocess.run(SCRIPTS[shell], cwd=lab.repo.path, env=env, capture_output=True, text=True, timeout=60)
    return done.stdout


@pytest.mark.parametrize("shell", list(SCRIPTS))
def test_an_installed_script_completes_commands_options_and_tasks(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_program(shell)
    lab = Lab.make(tmp_path)
    bin = tmp_path / "bin"
    bin.mkdir()
    program = bin / "burnish"
    program.write_text(f"#!{sys.executable}\nfrom burnish.cli.main import run\nrun()\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin}:{os.environ['PATH']}")
    for title in ("Add division", "Add a root"):
        lab.add(title)
    env = {
        **os.environ,
        **lab.env,
        "SHELL": shutil.which(shell) or "",
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
    }
    argv = [str(program), "--install-completion", shell]
    installed = subprocess.run(argv, cwd=lab.repo.path, env=env, capture_output=True, text=True, timeout=60)
    assert installed.returncode == 0, installed.stderr

    verbs, options, tasks = (
        completions(lab, shell, line) for line in ("burnish sta", "burnish run --wa", "burnish show ")
    )
    topics = completions(lab, shell, "burnish help se")

    assert "status" in verbs and "stats" in verbs and "merge" not in verbs, verbs
    assert "--watch" in options, options
    assert "1" in tasks and "2" in tasks and ("Add a root" in tasks or shell == "bash"), tasks
    assert "settings" in topics and "serve" in topics and "sandbox" not in topics, topics
