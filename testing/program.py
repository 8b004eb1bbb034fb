"""A program that prints as Claude Code does, and says that each call cost a quarter of a dollar."""

from __future__ import annotations

import os
import sys

from testing.lab import Lab

PROGRAM = """
import json, os, pathlib, re, sys
prompt, argv = sys.stdin.read(), sys.argv[1:]
with open(os.path.dirname(os.environ["HOME"]) + "/program.jsonl", "a") as log:
    log.write(json.dumps({"argv": argv, "phase": os.environ["BURNISH_PHASE"]}) + "\\n")
app = pathlib.Path("app.py")
number = re.search(r"burnish-verdict ([0-9a-f]{12,})", prompt)
result = {"type": "result", "is_error": False, "result": "Done.", "session_id": "one", "total_cost_usd": 0.25,
          "usage": {"input_tokens": 90, "output_tokens": 10}}
if "--json-schema" in argv:
    flaw = {"category": "code", "severity": "error", "title": "Zero", "description": "b may be 0", "file": "app.py"}
    bad = "BUG" in app.read_text()
    ids = sorted(set(re.findall(r"\\bF[0-9]+\\b", prompt)))
    result["structured_output"] = {
        "number": number[1], "verdict": "changes_requested" if bad else "approved", "summary": "s",
        "inspected": ["app.py"], "findings": [flaw] if bad else [], "compliance": [],
        "prior": [{"id": id, "state": "open" if bad else "resolved"} for id in ids]}
elif os.environ["BURNISH_PHASE"] == "implement":
    app.write_text("def div(a, b):\\n    return a / b  # BUG\\n")
else:
    app.write_text("def div(a, b):\\n    return a / b if b else None\\n")
print(json.dumps({"type": "system", "subtype": "init"}))
print(json.dumps(result))
"""


# The same, but it writes half of the work and then spends a quarter of a dollar and 10,000 tokens, again and again.
# Only in the phase that is named; it says what it spends as Claude Code does, message by message.
SPENDER = """
import json, os, pathlib, time
if os.environ["BURNISH_PHASE"] == SPENDS_IN:
    if SPENDS_IN != "review":
        pathlib.Path("half.py").write_text("half = 1\\n")
    for number in range(100):
        said = {"id": f"m{number}", "model": "claude-opus-4-5", "content": [], "usage": {"output_tokens": 10_000}}
        for _ in range(2):
            print(json.dumps({"type": "assistant", "message": said}), flush=True)
        time.sleep(0.3)
"""


def spender(phase: str) -> str:
    return f"SPENDS_IN = {phase!r}{SPENDER}{PROGRAM}"


def put_on_path(lab: Lab, settings: str, text: str = PROGRAM) -> None:
    """As `claude`, with these settings and no checks."""
    program = lab.root / "bin" / "claude"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!{sys.executable} -IS\n{text}")
    program.chmod(0o755)
    lab.env["PATH"] = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    lab.commit_settings(f"{settings}\nchecks: {{test: null, lint: null}}\n")
