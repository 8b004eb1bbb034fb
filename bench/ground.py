"""A scratch home, a scratch repository of any size, and agents that answer at once."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROBOT = """#!/bin/sh
cat >/dev/null
echo "# task $BURNISH_TASK cycle $BURNISH_CYCLE" >>app.py
echo done
"""

# The number is the first that the prompt names; earlier findings are all ruled resolved.
JUDGE = r"""#!/bin/sh
prompt=$(cat)
number=$(printf '%s' "$prompt" | sed -n 's/.*burnish-verdict \([0-9a-f]\{6,\}\).*/\1/p' | head -n 1)
if [ "$BURNISH_CYCLE" = 1 ]; then
  finding='{"category": "code", "severity": "error", "title": "Look again", "description": "x", "file": "app.py"}'
  body='"verdict": "changes_requested", "prior": [], "findings": ['"$finding"']'
else
  body='"verdict": "approved", "prior": [{"id": "F1", "state": "resolved", "note": ""}], "findings": []'
fi
printf '```burnish-verdict %s\n{"summary": "s", "inspected": ["app.py"], "compliance": [], %s}\n```\n' "$number" "$body"
"""

SETTINGS = """agent: robot
agents:
  robot: {{kind: command, argv: ["{root}/robot"]}}
  judge: {{kind: command, argv: ["{root}/judge"]}}
review: {{agents: [judge]}}
checks: {{test: null, lint: null}}
"""


@dataclass(frozen=True)
class Ground:
    root: Path

    @property
    def repo(self) -> Path:
        return self.root / "repo"

    @property
    def env(self) -> dict[str, str]:
        home = self.root / "home"
        return {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(home),
            "BURNISH_HOME": str(home / "burnish"),
            "LANG": "C.UTF-8",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "NO_COLOR": "1",
        }

    def call(self, *argv: str | Path, stdin: str = "") -> str:
        done = subprocess.run(
            [str(a) for a in argv],
            cwd=self.repo,
            env=self.env,
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{argv}: exit {done.returncode}\n{done.stderr[-2000:]}")
        return done.stdout

    def burnish(self, *argv: str) -> str:
        return self.call(Path(sys.executable).parent / "burnish", *argv)

    def git(self, *argv: str) -> str:
        return self.call("git", "-c", "user.name=B", "-c", "user.email=b@example.org", *argv)

    def cpu_seconds(self, *argv: str | Path) -> float:
        """What the command and its children used: other programs of the machine do not count."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.call(*argv)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def loose_objects(self) -> int:
        """Of the branches and refs that burnish made, in the user's repository."""
        named = self.git("rev-list", "--objects", "--branches=burnish/*", "--glob=refs/burnish/*", "--not", "main")
        objects = self.repo / ".git" / "objects"
        return sum((objects / sha[:2] / sha[2:]).exists() for sha in (line[:40] for line in named.splitlines()))

    def packs(self) -> int:
        return len(list((self.repo / ".git" / "objects" / "pack").glob("*.keep")))

    def seconds(self, *argv: str | Path) -> float:
        start = time.perf_counter()
        self.call(*argv)
        return time.perf_counter() - start


@contextmanager
def ground(files: int = 1) -> Iterator[Ground]:
    with TemporaryDirectory(prefix="burnish-bench-") as folder:
        place = Ground(Path(folder))
        place.repo.mkdir()
        (place.root / "home").mkdir()
        for name, text in (("robot", ROBOT), ("judge", JUDGE)):
            (place.root / name).write_text(text)
            (place.root / name).chmod(0o755)
        (place.repo / "app.py").write_text("def add(a, b):\n    return a + b\n")
        (place.repo / "burnish.yaml").write_text(SETTINGS.format(root=place.root))
        place.git("init", "-q", "-b", "main")
        if files > 1:
            # one pack: git writes a hundred thousand loose objects in minutes
            place.call("git", "fast-import", "--quiet", stdin="".join(_import_stream(files - 1)))
            place.git("read-tree", "main")
            place.git("checkout-index", "-a", "-u")
        place.git("add", "app.py", "burnish.yaml")
        place.git("commit", "-qm", "start")
        place.burnish("trust")
        yield place


def _import_stream(files: int) -> Iterator[str]:
    yield "commit refs/heads/main\ncommitter B <b@example.org> 1700000000 +0000\ndata 5\nfiles\n"
    for number in range(files):
        text = f"x = {number}\n" * 20
        yield f"M 100644 inline pkg{number // 100}/m{number}.py\ndata {len(text)}\n{text}\n"
