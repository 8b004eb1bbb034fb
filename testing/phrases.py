"""How reviewers word the same problem: written for the benchmark, unknown to the matcher."""

from __future__ import annotations

import random
from dataclasses import dataclass

from burnish.core.finding import Category


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of problem: the line of code that has it, and ways to speak of it."""

    category: Category
    code: tuple[str, ...]
    # (title, description), each by another reviewer
    says: tuple[tuple[str, str], ...]


KINDS = (
    Kind(
        Category.CODE,
        ("{v} = open({a})", "{v} = socket.create_connection({a})"),
        (
            ("`{v}` is never closed", "The handle opened in {f} leaks when an exception is raised."),
            ("Resource leak in {f}", "Nothing closes {v} on the error path; use a with block."),
            ("Descriptor stays allocated", "Wrap the acquisition in a context manager so it is released."),
        ),
    ),
    Kind(
        Category.SECURITY,
        ('cursor.execute("select * from {v} where id=" + {a})', 'db.run(f"delete from {v} where k={{{a}}}")'),
        (
            ("SQL injection through `{a}`", "User input is concatenated into the statement."),
            ("Unescaped input reaches the query", "{a} goes into the SQL text; bind it as a parameter."),
            ("Attacker controls database command", "Placeholders are needed instead of string building."),
        ),
    ),
    Kind(
        Category.CODE,
        ("except Exception: pass", "except Exception: {v} = None"),
        (
            ("Errors are swallowed in {f}", "The broad except hides every failure."),
            ("Overly broad exception handler", "Catching Exception and going on conceals real bugs."),
            ("Silent failure", "Problems vanish here; narrow it or log and re-raise."),
        ),
    ),
    Kind(
        Category.PERFORMANCE,
        ("{v} = [session.get(Item, i) for i in {a}]", "for {v} in {a}: total += count_rows({v})"),
        (
            ("N+1 queries in {f}", "One query per element of {a}; fetch them together."),
            ("Query inside a loop", "Each iteration of {f} hits the database once."),
            ("Slow for long lists", "Round trips grow linearly; batch the lookups."),
        ),
    ),
    Kind(
        Category.CODE,
        ("{v} = {a}[0]", "{v} = {a}.pop()"),
        (
            ("`{a}` may be empty", "Indexing fails with IndexError when there are no elements."),
            ("Missing check for an empty list in {f}", "An empty {a} raises here."),
            ("Crash on no data", "Guard the access before taking the first entry."),
        ),
    ),
    Kind(
        Category.CODE,
        ("for i in range(len({a}) - 1): {v}.append({a}[i])", "{v} = {a}[1:len({a}) - 1]"),
        (
            ("Off by one in {f}", "The last element of {a} is never visited."),
            ("Loop bound is wrong", "The final item is skipped because of the minus one."),
            ("Tail gets lost", "Iteration stops too early."),
        ),
    ),
    Kind(
        Category.SECURITY,
        ('{v} = "hunter2-{a}"', 'password = "{a}-{v}"'),
        (
            ("Hard-coded credential", "A secret stands in the source of {f}."),
            ("Secret committed in source", "Move the password to the environment."),
            ("Plain-text login data", "Anyone who can read the repository can log in; rotate it."),
        ),
    ),
    Kind(
        Category.ARCHITECTURE,
        ("from app.web import {v}", "import app.cli.{v} as {a}"),
        (
            ("Domain imports the web layer", "{f} reaches up into a layer above it."),
            ("Layering violated by this import", "Core must not depend on web or cli."),
            ("Dependency points the wrong way", "Invert it through an interface handed in."),
        ),
    ),
    Kind(
        Category.CODE,
        ("{v} = time.time() - {a}", "{v} = datetime.now() - {a}"),
        (
            ("Wall clock used for a duration", "time can jump; monotonic clock is right in {f}."),
            ("Duration measured with wall time", "NTP adjustments make {v} negative."),
            ("Elapsed seconds unreliable", "Prefer a steady counter."),
        ),
    ),
    Kind(
        Category.TEST,
        ("assert {v} is not None", "assert {v} or {a}"),
        (
            ("Assertion proves almost nothing", "Compare {v} with the expected value."),
            ("Weak assertion in {f}", "It would pass for any value; assert equality."),
            ("Would still be green if broken", "Check concrete outcome."),
        ),
    ),
    Kind(
        Category.CODE,
        ("{v} = {a} or {{}}", "{v} = cache.setdefault({a}, [])"),
        (
            ("Shared mutable default", "All callers of {f} see the same object."),
            ("Mutable state shared between calls", "Copy {v} before it is changed."),
            ("Aliasing bug", "One consumer's edits show up for another."),
        ),
    ),
    Kind(
        Category.PERFORMANCE,
        ("if {v} in list({a}): return True", "{v} = sorted({a})[0]"),
        (
            ("Linear search where a set would do", "Membership in a list is slow for large {a}."),
            ("Quadratic work in {f}", "The list is rebuilt for each call."),
            ("Needless copying", "Convert once, outside."),
        ),
    ),
)

# Any remark: the words of a second problem that sits on a line which has one already.
SECOND = (
    (Category.CODE, "Name says nothing", "`{v}` should tell what it holds."),
    (Category.CODE, "Magic value", "Give the constant a name."),
    (Category.CODE, "Type annotation missing", "Annotate {v}: strict typing is on."),
    (
        Category.COMPLIANCE,
        "Contradicts the acceptance criteria",
        "The task asked for this to be configurable.",
    ),
    (Category.ARCHITECTURE, "Belongs in another module", "Move this step out of {f}."),
)
SECOND_AGAIN = (
    ("Unclear variable name", "Rename `{v}` after its content."),
    ("Unexplained constant", "A named constant would explain the value."),
    ("Lacks a type annotation", "mypy cannot infer {v}; annotate it."),
    ("Acceptance criteria not met", "It was to be configurable, and is fixed here."),
    ("Wrong module", "This step should live outside of {f}."),
)

SYNONYMS = {
    "never": "at no point", "closed": "shut", "leaks": "is lost", "leak": "loss", "input": "data",
    "broad": "general", "hides": "masks", "failure": "fault", "query": "statement", "loop": "iteration",
    "element": "entry", "empty": "void", "list": "sequence", "missing": "absent", "check": "guard",
    "wrong": "incorrect", "last": "final", "secret": "token", "source": "repository", "import": "reference",
    "layer": "tier", "clock": "timer", "duration": "interval", "shared": "common", "mutable": "changeable",
    "slow": "costly", "large": "big", "weak": "feeble", "value": "result", "swallowed": "suppressed",
    "errors": "exceptions", "injection": "manipulation", "raised": "thrown", "opened": "acquired",
}  # fmt: skip


def reword(text: str, chance: random.Random) -> str:
    """Some words replaced by others that mean the same."""
    words = text.split(" ")
    return " ".join(SYNONYMS.get(word.lower().strip(".,;"), word) if chance.random() < 0.8 else word for word in words)
