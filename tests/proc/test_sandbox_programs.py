"""Programs in the home directory run in the sandbox, and what lies beside them stays hidden.

Each layout is that of a real installer or version manager, with small scripts in place of its binaries. A script reads
what the real program needs, so that one which is hidden makes it fail.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from burnish.proc.sandbox import Sandbox
from testing.attack_counts import CountAttacks
from testing.bubblewrap import needs_bubblewrap

SH = "#!/bin/sh\nset -e\n"
# layout: files (executable if they begin with `#!`), links, folders on PATH, the command, what it prints, secrets
Layout = tuple[dict[str, str], dict[str, str], tuple[str, ...], str, str, tuple[str, ...]]
LAYOUTS: dict[str, Layout] = {
    "pyenv": (
        {
            ".pyenv/libexec/pyenv": f'{SH}v=$(cat ~/.pyenv/version); exec ~/.pyenv/versions/$v/bin/"$2"\n',
            ".pyenv/shims/python": f"{SH}exec ~/.pyenv/bin/pyenv exec python\n",
            ".pyenv/version": "3.12.1\n",
            ".pyenv/versions/3.12.1/bin/python": f"{SH}cat ~/.pyenv/versions/3.12.1/lib/python3.12/os.py\n",
            ".pyenv/versions/3.12.1/lib/python3.12/os.py": "pyenv python",
        },
        {".pyenv/bin/pyenv": "../libexec/pyenv"},
        (".pyenv/shims", ".pyenv/bin"),
        "python",
        "pyenv python",
        (".pyenv/.netrc", ".pyenv/cache/token"),
    ),
    "nvm": (
        {
            ".nvm/versions/node/v22.1.0/bin/node": f'{SH}cat "$(dirname "$0")/../include/node/node.h" "$@"\n',
            ".nvm/versions/node/v22.1.0/include/node/node.h": "nvm ",
            ".nvm/versions/node/v22.1.0/lib/node_modules/npm/bin/npm-cli.js": "#!/usr/bin/env node\n",
        },
        {".nvm/versions/node/v22.1.0/bin/npm": "../lib/node_modules/npm/bin/npm-cli.js"},
        (".nvm/versions/node/v22.1.0/bin",),
        "npm",
        "nvm #!/usr/bin/env node",
        (".nvm/.npmrc", ".nvm/versions/node/v22.1.0/etc/npmrc"),
    ),
    "asdf": (
        {
            ".asdf/shims/terraform": f"{SH}exec ~/.asdf/bin/asdf exec terraform\n",
            ".asdf/bin/asdf": f'{SH}v=$(cut -d" " -f2 ~/.tool-versions); exec ~/.asdf/installs/$3/$v/bin/$3\n'.replace(
                "$3", "terraform"
            ),
            ".asdf/installs/terraform/1.9/bin/terraform": f"{SH}echo asdf terraform\n",
            ".tool-versions": "terraform 1.9\n",
        },
        {},
        (".asdf/shims", ".asdf/bin"),
        "terraform",
        "asdf terraform",
        (".asdf/credentials", ".terraform.d/credentials.tfrc.json"),
    ),
    "mise": (
        {
            ".local/bin/mise": f"{SH}v=$(sed -n 's/^jq = .\\(.*\\).$/\\1/p' ~/.config/mise/config.toml)\n"
            'exec ~/.local/share/mise/installs/jq/$v/bin/"$(basename "$0")"\n',
            ".local/share/mise/installs/jq/1.7/bin/jq": f"{SH}echo mise jq\n",
            ".config/mise/config.toml": '[tools]\njq = "1.7"\n',
        },
        {".local/share/mise/shims/jq": "../../../bin/mise"},
        (".local/share/mise/shims", ".local/bin"),
        "jq",
        "mise jq",
        (".config/mise/age.txt", ".local/share/mise/token", ".local/share/keyrings/login.keyring"),
    ),
    "volta": (
        {
            ".volta/bin/volta-shim": f"{SH}v=$(cat ~/.volta/tools/user/platform.json)\n"
            'exec ~/.volta/tools/image/node/$v/bin/"$(basename "$0")"\n',
            ".volta/tools/user/platform.json": "20.1.0",
            ".volta/tools/image/node/20.1.0/bin/node": f"{SH}echo volta node\n",
        },
        {".volta/bin/node": "volta-shim"},
        (".volta/bin",),
        "node",
        "volta node",
        (".volta/hooks.json",),
    ),
    "rustup": (
        {
            ".cargo/bin/rustup": f"{SH}t=$(sed -n 's/^default_toolchain = .\\(.*\\).$/\\1/p' ~/.rustup/settings.toml)\n"
            'exec ~/.rustup/toolchains/$t/bin/"$(basename "$0")"\n',
            ".rustup/settings.toml": 'default_toolchain = "stable"\n',
            ".rustup/toolchains/stable/bin/rustc": f"{SH}cat ~/.rustup/toolchains/stable/lib/librustc.so\n",
            ".rustup/toolchains/stable/lib/librustc.so": "rustc",
        },
        {".cargo/bin/rustc": "rustup"},
        (".cargo/bin",),
        "rustc",
        "rustc",
        (".cargo/credentials.toml", ".cargo/config.toml", ".rustup/tmp/token"),
    ),
    "npm global prefix": (
        {".npm-global/lib/node_modules/tool/cli.sh": f'{SH}cat "$(dirname "$(readlink -f "$0")")/package.json"\n'}
        | {".npm-global/lib/node_modules/tool/package.json": "npm tool"},
        {".npm-global/bin/tool": "../lib/node_modules/tool/cli.sh"},
        (".npm-global/bin",),
        "tool",
        "npm tool",
        (".npm-global/etc/npmrc", ".npm-global/.npmrc", ".npmrc"),
    ),
    "pipx": (
        {".local/share/pipx/venvs/black/bin/black": f"{SH}cat ~/.local/share/pipx/venvs/black/lib/black.py\n"}
        | {".local/share/pipx/venvs/black/lib/black.py": "pipx black", ".local/share/pipx/venvs/black/pyvenv.cfg": ""},
        {".local/bin/black": "../share/pipx/venvs/black/bin/black"},
        (".local/bin",),
        "black",
        "pipx black",
        (".local/share/pipx/logs/token", ".local/share/keyrings/login.keyring"),
    ),
    "uv tool": (
        {".local/share/uv/tools/ruff/bin/ruff": f"{SH}cat ~/.local/share/uv/tools/ruff/lib/ruff.py\n"}
        | {".local/share/uv/tools/ruff/lib/ruff.py": "uv ruff", ".local/share/uv/tools/ruff/pyvenv.cfg": ""},
        {".local/bin/ruff": "../share/uv/tools/ruff/bin/ruff"},
        (".local/bin",),
        "ruff",
        "uv ruff",
        (".local/share/uv/credentials/credentials.toml",),
    ),
    "dotnet, whose own folder is on PATH": (
        {".dotnet/dotnet": f"{SH}cat ~/.dotnet/shared/core.dll\n", ".dotnet/shared/core.dll": "dotnet"},
        {},
        (".dotnet",),
        "dotnet",
        "dotnet",
        (".dotnet/nuget.token", ".dotnet/corefx/my.pfx"),
    ),
    "a program in a hidden folder on PATH": (
        {
            ".x/tool": f"{SH}. ~/.x/helper.sh\ncat ~/.x/lib/data ~/.x/app/__init__.py\n",
            ".x/helper.sh": "printf 'all '\n",
            ".x/lib/data": "of ",
            ".x/app/__init__.py": "it",
        },
        {},
        (".x",),
        "tool",
        "all of it",
        (".x/config.json", ".x/.env", ".x/sessions/1", ".x/passwords.txt", ".x/auth.json"),
    ),
    "a script in a project folder": (
        {"work/bots/run.sh": f"{SH}. ~/work/bots/helper.sh\n", "work/bots/helper.sh": "echo bot\n"},
        {},
        (),
        "/bin/sh ~/work/bots/run.sh",
        "bot",
        ("work/bots/.env", "work/bots/notes.md", "work/bots/customers/list.csv"),
    ),
    "a link to a program in an unpacked archive": (
        {"opt/app-1/app": f'{SH}cat "$(dirname "$(readlink -f "$0")")/app.dat"\n', "opt/app-1/app.dat": "app"},
        {".local/bin/app": "../../opt/app-1/app"},
        (".local/bin",),
        "app",
        "app",
        ("opt/app-1/.env", "opt/app-1/credentials.json", "opt/other/x"),
    ),
    "programs in folders of secrets": (
        {".aws/bin/aws": f"{SH}echo aws\n", ".aws/tool": f"{SH}echo tool\n"},
        {},
        (".aws/bin", ".aws"),
        "aws",
        "aws",
        (".aws/credentials", ".aws/config", ".aws/tool"),
    ),
}


@pytest.mark.representatives(4)
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_program_runs_and_the_files_beside_it_stay_hidden(
    tmp_path: Path, name: str, count_attacks: CountAttacks
) -> None:
    needs_bubblewrap()
    files, links, path, command, printed, secrets = LAYOUTS[name]
    home = tmp_path / "home"
    for file in ("project/x", "burnish/work/x"):
        write(home / file, "")
    for file, text in files.items():
        write(home / file, text)
    for file in secrets:
        if file not in files:
            write(home / file, "SECRET")
    for link, target in links.items():
        (home / link).parent.mkdir(parents=True, exist_ok=True)
        (home / link).symlink_to(target)

    env = {"PATH": os.pathsep.join([*(f"{home}/{folder}" for folder in path), "/usr/bin", "/bin"]), "HOME": str(home)}
    look = " ".join(f"~/{file}" for file in secrets)
    words = (*command.replace("~", str(home)).split(),) if command.startswith("/bin/sh") else ("sh", "-c", command)
    program = sandboxed(home, env, *words)
    assert program.stdout.strip() == printed, program.stderr
    for first in (words, ("sh", "-c", "true")):
        script = f"for file in {look}; do test -e $file && echo $file; done; true"
        # with the same program named, so that the same places are shown
        seen = sandboxed(home, env, "sh", "-c", f"{script} # {' '.join(first[1:])}")
        count_attacks("read secrets beside programs", len(secrets), seen.stdout.count("\n"))
        assert seen.stdout == "", seen.stderr


def test_settings_of_mise_with_values_of_the_environment_stay_hidden(tmp_path: Path) -> None:
    needs_bubblewrap()
    home = tmp_path / "home"
    write(home / "project/x", "")
    write(home / "burnish/x", "")
    write(home / ".config/mise/config.toml", '[env]\nAPI_KEY = "SECRET"\n')
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
    assert sandboxed(home, env, "cat", f"{home}/.config/mise/config.toml").stdout == ""


def test_burnish_may_be_started_from_an_environment_that_a_link_in_the_home_leads_to(tmp_path: Path) -> None:
    needs_bubblewrap()
    home = tmp_path / "home"
    write(home / "project/x", "")
    write(home / "burnish/x", "")
    (home / "env").symlink_to(sys.prefix)
    code = (
        "import os, pathlib, sys; from burnish.proc.sandbox import Sandbox; home = pathlib.Path(sys.argv[1]);"
        "sandbox = Sandbox(home, home / 'project', home / 'burnish'); env = {'PATH': '/usr/bin:/bin'};"
        "words = (sys.executable, '-c', 'import burnish; print(1)');"
        "argv = sandbox.around(words, env=env, writable=()); os.execv(argv[0], argv)"
    )
    words = (f"{home}/env/bin/python", "-c", code, str(home))
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "1\n", done.stderr


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755 if text.startswith("#!") else 0o644)


def sandboxed(home: Path, env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    argv = Sandbox(home, home / "project", home / "burnish").around(words, env=env, writable=())
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=30, check=False)
