"""Imports point one way; each part says what lives in it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = sorted(path.parent for path in (ROOT / "src" / "burnish").glob("*/__init__.py"))
LINT = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"


def lint(config: Path, *, cwd: Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-c", LINT, "--config", str(config), "--no-cache"]
    return subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_no_import_points_against_the_layers() -> None:
    done = lint(ROOT / "pyproject.toml", cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_linter_would_notice_one(tmp_path: Path) -> None:
    for name, text in (("low", "import high\n"), ("high", "")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(text)
    config = tmp_path / "contracts.toml"
    config.write_text(
        '[tool.importlinter]\nroot_packages = ["low", "high"]\n'
        '[[tool.importlinter.contracts]]\nname = "one way"\ntype = "layers"\nlayers = ["high", "low"]\n'
    )
    done = lint(config, cwd=tmp_path)
    assert done.returncode == 1 and "low -> high" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_each_part_says_what_lives_in_it(package: Path) -> None:
    if package.name == "core":
        assert "core/" in (ROOT / "docs" / "architecture.md").read_text()
    else:
        readme = package / "README.md"
        assert readme.exists(), f"Write {readme.relative_to(ROOT)}: its modules, and what does not belong there."
        assert readme.read_text().startswith("# ")


def test_settings_of_a_checkout_are_loaded_only_where_trust_is_decided() -> None:
    """`config.load(root)` takes what a repository says; code that acts on it goes through `runtime.trust`."""
    called = re.compile(r"\b(?:settings|config)\.load\((?!None\))")
    files = [path for path in (ROOT / "src" / "burnish").rglob("*.py") if called.search(path.read_text("utf-8"))]
    # init compares what is written with what it would write, and runs nothing
    assert {path.name for path in files} == {"trust.py", "init.py"}, "Load settings through runtime/trust.py."
