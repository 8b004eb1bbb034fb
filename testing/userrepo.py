"""A user's repository to try things on, and a fingerprint that notices any touch."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from burnish.git.discovery import discover
from burnish.runtime.trust import BY_COMMAND, grant

FIRST_FILES = {"app.py": "def add(a, b):\n    return a + b\n"}
OURS = ("refs/heads/burnish/", "refs/burnish/")


@dataclass(frozen=True)
class UserRepo:
    path: Path

    @classmethod
    def make(cls, path: Path, files: dict[str, str] | None = None, *init_args: str) -> UserRepo:
        repo = cls(path)
        if files is None and not init_args and not path.exists():
            shutil.copytree(_template(), path, symlinks=True)
            # the index records inode and change time of each file, which are others in the copy
            repo.git("update-index", "-q", "--refresh")
            return repo
        path.mkdir(parents=True, exist_ok=True)
        repo._begin(files or FIRST_FILES, *init_args)
        return repo

    def _begin(self, files: dict[str, str], *init_args: str) -> None:
        self.git("init", "-q", "-b", "main", *init_args)
        self.commit(files, "start")

    @classmethod
    def make_big(cls, path: Path, files: int) -> UserRepo:
        """Many files in one commit, as a clone has them: packed. They are not checked out."""
        repo = cls.make(path, {"app.py": "x = 1\n"})
        entries = (f"M 100644 inline d{n % 200}/f{n}.py\ndata <<.\nx = {n}\n.\n" for n in range(files))
        start = "commit refs/heads/main\ncommitter U <u@e> 1700000000 +0000\ndata 3\nbig\nfrom refs/heads/main^0\n"
        subprocess.run(
            ["git", "fast-import", "--quiet"], cwd=path, input=(start + "".join(entries)).encode(), check=True
        )
        return repo

    def git(self, *args: str, check: bool = True) -> str:
        env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        identity = (
            "-c",
            "user.name=User",
            "-c",
            "user.email=user@example.org",
            "-c",
            "protocol.file.allow=always",
        )
        done = subprocess.run(["git", *identity, *args], cwd=self.path, env=env, capture_output=True, check=False)
        if check and done.returncode:
            raise AssertionError(f"git {args}: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode(errors="surrogateescape").strip()

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            target = self.path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)

    def commit(self, files: dict[str, str], message: str = "change") -> str:
        self.write(files)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self._head() or self.git("rev-parse", "HEAD")

    def _head(self) -> str:
        """The commit that is checked out, without a process; empty where that takes more than two files."""
        try:
            name = (self.path / ".git" / "HEAD").read_text().strip().removeprefix("ref: ")
            return (self.path / ".git" / name).read_text().strip() if name.startswith("refs/") else ""
        except OSError:
            return ""

    def trust(self) -> None:
        """As `burnish trust` does: the user accepts the checkout as it is, in the burnish home of the environment."""
        grant(discover(self.path), how=BY_COMMAND)

    def fingerprint(self) -> str:
        """The user's files, index, HEAD, config, hooks and refs, byte for byte; burnish's own refs aside."""
        digest = hashlib.sha256()
        git_dir = Path(self.git("rev-parse", "--absolute-git-dir"))
        watched = [p for p in self.path.rglob("*") if git_dir not in p.parents and p != git_dir]
        watched += [git_dir / name for name in ("config", "HEAD", "index")]
        watched += list((git_dir / "hooks").glob("*")) if (git_dir / "hooks").is_dir() else []
        for path in sorted(watched):
            if path.is_symlink():
                digest.update(os.fsencode(path) + os.fsencode(path.readlink()))
            elif path.is_file():
                digest.update(os.fsencode(path) + path.read_bytes() + oct(path.stat().st_mode).encode())
        refs = [r for r in self.git("for-each-ref").splitlines() if not any(o in r for o in OURS)]
        digest.update("\n".join(refs).encode())
        return digest.hexdigest()


@cache
def _template() -> Path:
    """A repository with its first commit, made once per process: a copy costs a quarter of making one."""
    folder = Path(tempfile.mkdtemp(prefix="burnish-template-"))
    # tests that drop their rights copy it too
    folder.chmod(0o755)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    repo = UserRepo(folder / "repo")
    repo.path.mkdir()
    repo._begin(FIRST_FILES)
    return repo.path
