"""How long the fix prompt is beside the implement prompt and the diff, over tasks of realistic sizes."""

from __future__ import annotations

import random
from dataclasses import replace
from statistics import median

from burnish.core.criteria import criterion_rule
from burnish.core.finding import Category, Finding, FindingState, Remark, Severity
from burnish.core.task import Spec
from burnish.review.fix_prompt import FixContext, build_fix_prompt
from burnish.review.implement_prompt import ImplementContext, build_implement_prompt

GOAL = 0.25
CASES = 60
_WORDS = (
    "the handler returns an error when the session has expired and the client retries with the token that it kept "
    "before writing to the store because a second request may arrive while the lock is held by another worker"
).split()


def _text(random_words: random.Random, length: int) -> str:
    words: list[str] = []
    while sum(map(len, words)) + len(words) < length:
        words.append(random_words.choice(_WORDS))
    return " ".join(words).capitalize() + "."


def _code(numbers: random.Random, lines: int) -> str:
    rows = [f"    value_{n} = compute_{numbers.randrange(40)}(first, second, limit={n})" for n in range(lines)]
    return "\n".join(rows) + "\n"


def _finding(words: random.Random, number: int, lines: int) -> Finding:
    remark = Remark(
        Category.CODE,
        Severity.ERROR if number == 1 else Severity.WARNING,
        _text(words, 60),
        _text(words, words.randrange(120, 400)),
        _text(words, words.randrange(0, 160)),
        file=f"src/part_{number}.py",
        line=words.randrange(1, lines),
        quote=f"    value_{number} = compute",
    )
    return Finding(f"F{number}", remark, reviewers=("claude",))


def _case(seed: int) -> tuple[int, int]:
    """Bytes of the fix prompt, and of implement prompt and diff together."""
    words = random.Random(seed)
    criteria = tuple(_text(words, words.randrange(40, 110)) for _ in range(words.randrange(2, 7)))
    task = Spec(
        _text(words, 50),
        _text(words, words.randrange(250, 2500)),
        scope=_text(words, words.randrange(0, 250)),
        criteria=criteria,
        plan=_text(words, words.choice((0, 0, 800, 3000))),
    )
    files = words.randrange(2, 6)
    lines = words.randrange(60, 220)
    code = {f"src/part_{n}.py": _code(words, lines) for n in range(1, files + 1)}
    diff = "".join(
        f"diff --git a/{path} b/{path}\n@@ -0,0 +1,{lines} @@\n" + text.replace("\n", "\n+")
        for path, text in code.items()
    )
    context = (("AGENTS.md", _text(words, words.randrange(1000, 5000))),)
    implement = build_implement_prompt(
        ImplementContext(task, project_context=context, checks=("pytest -q",), tag="abcd1234")
    )
    findings = [_finding(words, n, lines) for n in range(1, words.randrange(2, 5))]
    unmet = Remark(
        Category.COMPLIANCE,
        Severity.ERROR,
        f"Not met: {criteria[0]}",
        _text(words, 150),
        rule=criterion_rule(criteria[0]),
    )
    findings.append(Finding(f"F{len(findings) + 1}", unmet))
    if seed % 3 == 0:
        findings[0] = replace(findings[0], state=FindingState.RESOLVED)
    fix = FixContext(
        task,
        2,
        3,
        findings=tuple(findings),
        summary=_text(words, 120),
        prose=_text(words, words.choice((0, 300, 900, 2000))),
        code=code,
        tried=("cycle 1: 1234567890 was sent back: " + _text(words, 80),),
        reproduction_command="pytest -q",
        dispute_number="d15b07e5d15b",
        tag="abcd1234",
    )
    return len(build_fix_prompt(fix).encode()), len(implement.encode()) + len(diff.encode())


def ratios() -> list[float]:
    """Fix prompt as a share of implement prompt and diff, one for each generated task."""
    return [fix / whole for fix, whole in map(_case, range(CASES))]


def main() -> None:
    shares = sorted(ratios())
    middle = median(shares)
    sizes = sorted(fix for fix, _ in map(_case, range(CASES)))
    high = shares[int(CASES * 0.9)]
    print(f"fix prompt / (implement prompt + diff): median {middle:.1%}, 90 % below {high:.1%} (goal {GOAL:.0%})")
    print(f"fix prompt: median {sizes[CASES // 2]:,} bytes, longest {sizes[-1]:,}")
    assert middle <= GOAL


if __name__ == "__main__":
    main()
