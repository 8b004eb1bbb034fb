"""The program behind the `scripted` agent: do what a script says, as an agent would.

A script is a list of steps (YAML, or JSON with the ending .json). The first step that fits is played:

    - on: implement              # the role: implement, improve, review, parse; a list of them; left out = any
      cycle: 1                   # left out = any
      task: Add login            # words that the prompt must hold, or a task's number; left out = any
      files:
        src/login.py: |          # a text: the whole file
          def login(): ...
        src/old.py: null         # deleted
        README.md: {append: "Now with login.\\n"}
        src/app.py: {replace: {"pass": "login()", "x = 1": "x = 2"}}
      say: I have added the login.

    - on: review
      cycle: 1
      verdict: changes_requested
      summary: The empty password gets in.
      findings:
        - {category: code, severity: error, title: No check, description: "…", file: src/login.py, line: 1}

    - on: review
      verdict: approved

Also: `sleep: 2` (seconds, before anything else), `exit: 1`, `stderr: text`,
`disputes: [{id: F1, evidence: "…"}]`.

A verdict is signed with the number found in the prompt. What it leaves out is filled in from the prompt:
`inspected` with the paths of the diff, `prior` with a ruling on each earlier finding (`resolved` if approved,
else `open`; write `prior: resolved` for all, or a list), `compliance` with every criterion and checklist item
(met if approved). `raw: text` is printed unchanged, except that `{number}` is replaced: for malformed or
forged replies.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from burnish.bounded_yaml import load_yaml
from burnish.regular_files import read_regular

Step = Mapping[str, Any]
_MAX_BYTES = 4_000_000
_MAX_ENTRIES = 10_000


def load(path: Path) -> list[Step]:
    data = read_regular(path, longest=_MAX_BYTES + 1)
    if data is None or len(data) > _MAX_BYTES:
        raise SystemExit(f"{path} is not a file of at most {_MAX_BYTES // 1_000_000} MB")
    text = data.decode("utf-8")
    if path.suffix == ".json":
        steps = json.loads(text)
    else:
        try:
            steps = load_yaml(text, most=_MAX_ENTRIES)
        except ValueError as error:
            raise SystemExit(f"{path} cannot be read: {error}") from None
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise SystemExit(f"{path} is not a list of steps")
    return steps


def choose(steps: list[Step], *, role: str, cycle: int, task: int, prompt: str) -> Step | None:
    """The first step that fits."""
    for step in steps:
        roles = step.get("on", role)
        if role not in (roles if isinstance(roles, list) else [roles]):
            continue
        task_filter = step.get("task")
        is_match = task_filter is None or (
            task_filter == task if isinstance(task_filter, int) else str(task_filter) in prompt
        )
        if is_match and step.get("cycle", cycle) == cycle:
            return step
    return None


def change_files(root: Path, files: Mapping[str, Any]) -> None:
    for name, what in files.items():
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise SystemExit(f"{name} is outside the workspace")
        change_file(root / name, what)


def change_file(path: Path, what: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    match what:
        case None | {"delete": True}:
            path.unlink(missing_ok=True)
        case str():
            path.write_text(what, "utf-8")
        case {"write": str(text)}:
            path.write_text(text, "utf-8")
        case {"append": str(text)}:
            with path.open("a", encoding="utf-8") as file:
                file.write(text)
        case {"replace": dict(pairs)}:
            text = path.read_text("utf-8")
            for old, new in pairs.items():
                if old not in text:
                    raise SystemExit(f"{path} does not hold {old!r}")
                text = text.replace(old, new)
            path.write_text(text, "utf-8")
        case _:
            raise SystemExit(f"{path}: {what!r} is neither a text, null, append, replace nor delete")


def reply(step: Step, prompt: str) -> str:
    """Everything the step says, the blocks signed."""
    parts = [str(step["say"])] if "say" in step else []
    if "verdict" in step:
        parts.append(block("burnish-verdict", number_in(prompt, "burnish-verdict"), verdict(step, prompt)))
    if "disputes" in step:
        parts.append(block("burnish-disputes", number_in(prompt, "burnish-disputes"), step["disputes"]))
    if "raw" in step:
        parts.append(str(step["raw"]).replace("{number}", number_in(prompt, "burnish-verdict")))
    return "\n\n".join(parts)


def block(name: str, number: str, value: object) -> str:
    return f"```{name} {number}\n{json.dumps(value, indent=1, ensure_ascii=False)}\n```"


def number_in(prompt: str, name: str) -> str:
    """The last one: what is quoted from the repository stands before the contract."""
    found = re.findall(re.escape(name) + r"\s+([0-9A-Za-z]+)", prompt)
    return str(found[-1]) if found else "none"


def verdict(step: Step, prompt: str) -> dict[str, Any]:
    verdict = step["verdict"]
    fields = dict(verdict) if isinstance(verdict, Mapping) else {"verdict": verdict}
    for key in ("summary", "inspected", "prior", "compliance", "findings", "blocking", "rejection_reason"):
        if key in step:
            fields[key] = step[key]
    is_approved = fields["verdict"] == "approved"
    fields.setdefault("summary", str(step.get("say", "As the script says.")))
    fields.setdefault("inspected", paths_in(prompt))
    fields.setdefault("findings", [])
    if not isinstance(fields.get("prior"), list):
        state = fields.get("prior") or ("resolved" if is_approved else "open")
        fields["prior"] = [{"id": id_, "state": state, "note": ""} for id_ in earlier_ids(prompt)]
    if not isinstance(fields.get("compliance"), list):
        is_met = fields.get("compliance", "met" if is_approved else "unmet") == "met"
        fields["compliance"] = [{"item": item, "met": is_met, "note": ""} for item in items_in(prompt)]
    return fields


def paths_in(prompt: str) -> list[str]:
    found = re.findall(r"^diff --git (?:a/.*?|\"a/.*?\") (\"b/.*\"|b/.*)$", prompt, re.MULTILINE)
    plain = [f'"{path[3:]}' if path.startswith('"') else path[2:] for path in found]
    return list(dict.fromkeys(plain))


def section(prompt: str, heading: str) -> str:
    """The lines under a heading that burnish wrote, up to the next one of the same or a higher level."""
    found: list[str] = []
    level, data = 0, ""
    for line in prompt.splitlines():
        # what stands between <data …> and </data …> is quoted: it has no headings of the prompt
        if not data and (title := re.match(r"(#+) (?=[A-Z])", line)):
            if level and len(title[1]) <= level:
                break
            level = level or (len(title[1]) if line.lstrip("#").strip() == heading else 0)
        elif begin := re.fullmatch(r"<data (\S+)>", line):
            data = data or begin[1]
        elif line == f"</data {data}>":
            data = ""
        if level:
            found.append(line)
    return "\n".join(found[1:])


def earlier_ids(prompt: str) -> list[str]:
    """The earlier findings that are still to be ruled on, by their headings, the rest by their rows."""
    text = section(prompt, "Earlier Findings")
    entries = re.findall(r"^(?:###|[-*]) (F[1-9][0-9]*)\b(?:.*\((\w+)\)$)?", text, re.MULTILINE)
    rows = re.findall(r"^(F[1-9][0-9]*) ", text.partition("not shown in full")[2], re.MULTILINE)
    ids = [id_ for id_, state in entries if state not in ("resolved", "waived")]
    return list(dict.fromkeys([*ids, *rows]))


def items_in(prompt: str) -> list[str]:
    lines = section(prompt, "Acceptance Criteria") + section(prompt, "Task Checklist")
    found = re.findall(r"^\s*(?:[-*]|[0-9]+\.)\s+(?:\[[ xX]\]\s+)?(.+?)\s*$", lines, re.MULTILINE)
    return list(dict.fromkeys(found))


def main() -> int:
    script, role = sys.argv[1:3]
    prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    cycle, task = int(os.environ.get("BURNISH_CYCLE", "1")), int(os.environ.get("BURNISH_TASK", "0"))
    step = choose(load(Path(script)), role=role, cycle=cycle, task=task, prompt=prompt)
    if step is None:
        print(f"{script} has no step for {role} in cycle {cycle} of task {task}", file=sys.stderr)
        return 3
    time.sleep(float(step.get("sleep", 0)))
    change_files(Path.cwd(), step.get("files") or {})
    sys.stderr.write(str(step.get("stderr", "")))
    sys.stdout.buffer.write((reply(step, prompt) + "\n").encode("utf-8", "replace"))
    return int(step.get("exit", 0))


if __name__ == "__main__":
    raise SystemExit(main())
