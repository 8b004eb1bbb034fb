"""The loop with instant agents against a shell script that does the same git work, and what one cycle costs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench.ground import Ground, ground
from burnish.core.agent import Use
from burnish.features.run.run import run_tasks

TASKS = 8

SCRIPT = """set -e
agent() {{ BURNISH_PHASE=$1 BURNISH_TASK=$2 BURNISH_CYCLE=$3 {root}/$4 <{root}/prompt >/dev/null; }}
for i in $(seq {tasks}); do
  git worktree add -q -b shell/$i {root}/w$i HEAD; cd {root}/w$i
  for c in 1 2; do
    agent implement $i $c robot; git add -A; git commit -qm "cycle $c"; git diff main HEAD >{root}/diff
    git worktree add -q --detach {root}/r$i HEAD; (cd {root}/r$i; agent review $i $c judge)
    git worktree remove --force {root}/r$i
    mkdir -p .burnish; date >.burnish/review-$c.md; git add -A; git commit -qm "review $c"
  done; cd - >/dev/null
done"""


class Silent:
    """A watcher that looks away."""

    def event(self, task: Any, event: Any) -> None: ...
    def output(self, task_id: int, line: str) -> None: ...
    def spent(self, task_id: int, use: Use) -> None: ...
    def note(self, text: str) -> None: ...


def against_shell(files: int = 2000) -> None:
    with ground(files) as place:
        place.git("config", "user.name", "B")
        place.git("config", "user.email", "b@example.org")
        (place.root / "prompt").write_text("burnish-verdict abcdef123456\n" * 50)
        for number in range(TASKS):
            place.burnish("add", f"Task {number}")
        ours = place.seconds("burnish", "run", "--all")
        script = SCRIPT.format(root=place.root, tasks=TASKS)
        theirs = place.seconds("bash", "-c", script)
        print(
            f"loop, {TASKS} tasks x 2 cycles, {files:,} files: burnish {ours:.2f} s, shell script {theirs:.2f} s"
            f" = {ours / theirs:.2f} x  (promise: 1.5 x)"
        )


def cost_of_a_cycle() -> None:
    """Processes and SQL statements, counted inside one process: a task of one cycle, and what a second one adds."""
    with ground(200) as place, _as_if_there(place):
        from burnish.git.run import calls
        from burnish.runtime import open_app
        from burnish.runtime.requests import RunRequest

        app = open_app(place.repo)
        counted = []
        for number, cycles in enumerate((1, 2), 1):
            place.burnish("add", f"Count me {number}", "--max-cycles", str(cycles))
            calls.reset()
            before = app.store.statements
            run_tasks(app, RunRequest(ids=(number,)), progress=Silent())
            counted.append((calls.total, app.store.statements - before))
        (git_one, sql_one), (git_two, sql_two) = counted
        print(f"first cycle with all that begins a task: {git_one} git processes, {sql_one} SQL statements")
        more_git, more_sql = git_two - git_one, sql_two - sql_one
        print(f"each further cycle: {more_git} git processes (promise: under 12), {more_sql} SQL statements")
        print("  with 2 agent calls, each under one shim; no other processes")


@contextmanager
def _as_if_there(place: Ground) -> Iterator[None]:
    before, there = dict(os.environ), place.env
    os.environ.clear()
    os.environ.update(there)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def main() -> None:
    against_shell()
    cost_of_a_cycle()


if __name__ == "__main__":
    main()
