"""Threat 11: what burnish keeps of tasks is its owner's alone, also in a home that others can look into."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import Lab


@pytest.mark.long
def test_no_folder_of_a_task_can_be_looked_into_by_others(lab: Lab) -> None:
    home = Path(lab.env["BURNISH_HOME"])
    found = []
    for top in ("projects", "workspaces", "snapshots", "throwaway"):
        for folder in (home / top, *(home / top).glob("*"), *(home / top).glob("*/*"), *(home / top).glob("*/tasks/*")):
            # the inside of a repository is behind one of ours
            if folder.is_dir() and ".git" not in folder.name and folder.parent.name != "git":
                found.append((str(folder.relative_to(home)), oct(folder.stat().st_mode & 0o077)))
    assert [one for one in found if one[1] != "0o0"] == []
    assert {Path(name).parts[0] for name, _ in found} >= {"projects", "workspaces"} and len(found) > 8, found
