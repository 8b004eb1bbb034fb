"""`sandbox.read` and `sandbox.write`: absolute paths of the user's settings; anything else is named as an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.adapters.sandbox import resolve_sandbox_policy
from burnish.config import load
from burnish.errors import BadInput
from burnish.proc.sandbox import sandbox_obstacle


def user_settings(root: Path, text: str) -> dict[str, str]:
    (root / "burnish").mkdir()
    (root / "burnish" / "config.yaml").write_text(text)
    return {"XDG_CONFIG_HOME": str(root)}


def test_absolute_paths_and_paths_below_the_home_are_taken(tmp_path: Path) -> None:
    env = user_settings(tmp_path, "sandbox: {read: [/opt/data, ~/models], write: [/dev/kvm]}\n")
    section = load(None, env=env).sandbox
    assert (section.read, section.write) == (("/opt/data", "~/models"), ("/dev/kvm",))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("data", "absolute"),
        ("./data", "absolute"),
        ("~other/data", "absolute"),
        ("/", "whole system"),
        ("//", "whole system"),
        ("/srv/../etc", "`..`"),
        ("''", "absolute"),
        ("7", "absolute"),
    ],
)
@pytest.mark.parametrize("key", ["read", "write"])
def test_other_paths_are_a_settings_error(tmp_path: Path, key: str, path: str, message: str) -> None:
    with pytest.raises(BadInput) as error:
        load(None, env=user_settings(tmp_path, f"sandbox: {{{key}: [{path}]}}\n"))
    assert message in str(error.value) and f"sandbox.{key}" in str(error.value)


@pytest.mark.skipif(sandbox_obstacle() is not None, reason="needs bubblewrap")
@pytest.mark.parametrize("part", ["", "burnish.db", "tasks/1"])
def test_the_burnish_home_cannot_be_listed(tmp_path: Path, part: str) -> None:
    home = tmp_path / "home"
    config = load(None, env=user_settings(tmp_path, f"sandbox: {{write: ['{home / part}']}}\n"))
    with pytest.raises(BadInput, match="part of the burnish home"):
        resolve_sandbox_policy(config, checkout=tmp_path / "checkout", burnish_home=home)
