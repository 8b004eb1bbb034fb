"""Parsers that load no code of a repository: node, the shell, gofmt."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.checks.scan import scan
from burnish.checks.scanners.base import ScanContext

BROKEN = {
    "a.js": ("node", "const a = 1\nconst b = ;\n", 2),
    "a.mjs": ("node", "import a from 'a'\nfunction (\n", 2),
    "a.sh": ("bash", "if true; then\n  echo a\n", 3),
    "a.go": ("gofmt", "package a\n\nfunc f( {\n}\n", 3),
}
SOUND = {
    "a.js": "const a = 1\n",
    "module.js": "import a from 'a'\nexport const b = a\n",
    "jsx.js": "const a = <div/>\n",
    "a.sh": "a=(1 2)\n[[ $a ]] && echo b\n",
    "a.go": "package a\n",
}


def ground(tmp_path: Path, files: dict[str, str]) -> ScanContext:
    for folder in ("files", "out", "checkout"):
        (tmp_path / folder).mkdir()
    for name, text in files.items():
        (tmp_path / "files" / name).write_text(text)
    places = (tmp_path / "files", tmp_path / "out", tmp_path / "checkout")
    env = {"PATH": os.environ["PATH"]}
    return ScanContext(*places, env, lambda path: None, lambda path: False, own_settings=False)


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_parsed_is_an_error_on_its_line(tmp_path: Path, name: str) -> None:
    program, text, line = BROKEN[name]
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    found = scan(ground(tmp_path, {name: text}), [name], executing=False)
    assert [(remark.file, remark.rule) for remark in found.remarks] == [(name, "syntax-error")]
    assert found.remarks[0].line in (line, line - 1)


def test_what_is_sound_or_of_another_dialect_is_not_blamed(tmp_path: Path) -> None:
    assert scan(ground(tmp_path, SOUND), list(SOUND), executing=False).remarks == ()


def test_a_program_of_the_checkout_is_not_started(tmp_path: Path) -> None:
    one = ground(tmp_path, {"a.js": "const b = ;\n"})
    mark, evil = tmp_path / "mark", one.checkout / "node"
    evil.write_text(f"#!/bin/sh\ntouch {mark}\n")
    evil.chmod(0o755)
    scan(
        ScanContext(one.files, one.out_dir, one.checkout, {"PATH": str(one.checkout)}, one.base_text, one.is_test),
        ["a.js"],
        executing=False,
    )
    assert not mark.exists()


_VERSION_MANAGER = """#!/bin/sh
here=$(pwd)
while :; do
  if [ -e "$here/.tool-versions" ]; then echo "$0" >> {mark}; fi
  [ "$here" = / ] && break
  here=$(dirname "$here")
done
"""


def test_a_version_manager_finds_no_settings_of_the_change_or_the_checkout(tmp_path: Path) -> None:
    one = ground(tmp_path, {"a.js": "let\n", "a.go": "package\n", "a.sh": "if\n", ".tool-versions": "nodejs path:.\n"})
    (tmp_path / ".tool-versions").write_text("nodejs path:.\n")
    mark, started, shims = tmp_path / "mark", tmp_path / "started", tmp_path / "shims"
    shims.mkdir()
    for name in ("node", "gofmt", "bash", "shellcheck"):
        (shims / name).write_text(_VERSION_MANAGER.format(mark=mark) + f'echo "{name}" >> {started}\n')
        (shims / name).chmod(0o755)
    env = {"PATH": f"{shims}:{os.environ['PATH']}"}
    scan(replace(one, env=env), ["a.js", "a.go", "a.sh"], executing=False)
    assert set(started.read_text().split()) == {"node", "gofmt", "bash", "shellcheck"}
    assert not mark.exists()
