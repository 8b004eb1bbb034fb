"""Changes made up for tests, as git would describe them."""

from __future__ import annotations

from burnish.core.change import Change, ChangedFile, Hunk


def added(path: str, lines: int = 3, *, words: str = "x = 1") -> ChangedFile:
    text = f"@@ -0,0 +1,{lines} @@\n" + f"+{words}\n" * lines
    return ChangedFile(path, "A", old_mode="000000", hunks=(Hunk(0, 0, 1, lines, text),), header=header(path))


def modified(path: str, hunks: int = 1, *, words: str = "y = 2") -> ChangedFile:
    made = [
        Hunk(at * 10 + 1, 2, at * 10 + 1, 2, f"@@ -{at * 10 + 1},2 +{at * 10 + 1},2 @@\n a\n-b\n+{words}\n")
        for at in range(hunks)
    ]
    return ChangedFile(path, "M", hunks=tuple(made), header=header(path))


def deleted(path: str) -> ChangedFile:
    hunk = Hunk(1, 2, 0, 0, "@@ -1,2 +0,0 @@\n-a\n-b\n")
    return ChangedFile(path, "D", new_mode="000000", hunks=(hunk,), header=header(path))


def renamed(old: str, new: str) -> ChangedFile:
    return ChangedFile(new, "R", old_path=old, header=f"diff --git a/{old} b/{new}\n")


def binary(path: str) -> ChangedFile:
    return ChangedFile(path, "A", binary=True, header=header(path))


def change(*files: ChangedFile) -> Change:
    return Change("0" * 40, "1" * 40, files)


def header(path: str) -> str:
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
