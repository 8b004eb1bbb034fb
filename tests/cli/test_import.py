"""burnish import: tasks of other tools, all of them or none, and never twice."""

from __future__ import annotations

import json
import sqlite3
import textwrap
from pathlib import Path
from typing import Any

import pytest

from burnish.exchange.source_task import MAX_FINDINGS
from burnish.exchange.task_markdown import review_items
from testing.gh_standin import GhStandIn
from tests.cli.conftest import Person

SPEC_RUNNER = """
# Tasks

### SHOP-001: Sell bread
🔴 P0 | ⬜ TODO | Est: 2d

Bread sells by the loaf.

**Checklist:**
- [ ] a price
- [x] a name
**Traces to:** [REQ-1]
**Depends on:** —
**Blocks:** [SHOP-002]

### SHOP-002: Sell butter
P2 | TODO
**Depends on:** [SHOP-003]

### SHOP-003: Open the shop
P1 | DONE
"""
PLAN = """
## Phase 1
- [ ] **Sell bread** `[pending]`
  Spec: docs/bread.md
  Scope: shop/
  Acceptance: a loaf costs 3
- [x] **Open** `[complete]`
## Phase 2
- [ ] **Sell butter** `[pending]`
  Depends: 1.1, 1.2
"""
SPEC_KIT = """
## Phase 1: Setup
- [x] T001 Create the folder
## Phase 2: Shop
Work in order.
- [ ] T002 [P] Add bread in shop.py
- [ ] T003 Add butter
## Phase 3: Till
- [ ] T004 Add the till
"""
OPEN_SPEC = "## 1. Shop\n- [ ] 1.1 Add bread\n## 2. Till\n- [ ] 2.1 Add the till\n"
CHECKLIST = "# Todo\n- [ ] Sell bread\n  - [ ] a price\n  by the loaf\n- [x] Open\n- [ ] Sell bread\n"
GZA = """
tasks:
  - prompt: "Sell bread\\n\\nBy the loaf."
    type: implement
    review: true
    tags: [shop]
    spec: bread.txt
  - prompt: Plan the till
    type: plan
    depends_on: 1
    model: opus
"""
OWN = """
tasks:
  - key: bread
    title: Sell bread
    criteria: "A loaf costs 3, and not 4"
    checklist: [{text: a price, done: true}, a name]
    priority: 5
    tags: [Shop]
    colour: blue
  - title: Sell butter
    depends_on: bread
"""
FEATURE = {
    "id": "feature-1",
    "title": "Sell bread",
    "description": "By the loaf.",
    "category": "Core shop",
    "status": "backlog",
    "steps": ["a price", "a name"],
    "skipTests": True,
    "priority": 1,
    "model": "opus",
    "branchName": "feature/x",
    "codeReviewSpec": {"rejectionReason": "No price", "findings": [{"title": "Free bread", "file": "shop.py"}]},
}
PACKAGE = """---
work_package_id: {id}
title: {title}
dependencies: {needs}
subtasks: [T1, T2]
owned_files: [shop.py]
lane_hint: 3
---
# {title}

By the loaf.
"""


def write(person: Person, files: dict[str, str]) -> None:
    person.repo.write({name: textwrap.dedent(text) for name, text in files.items()})


def shown(person: Person, number: int) -> dict[str, Any]:
    return dict(person.asks("show", str(number)))


def outcomes(report: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["title"], one["outcome"]) for one in report["tasks"]]


def findings(person: Person, number: int) -> list[tuple[str, str, str]]:
    found = person.asks("findings", str(number))["findings"]
    return [(one["id"], one["state"], one["title"]) for one in found]


def kitty(person: Person) -> None:
    folder = "kitty-specs/shop-01/"
    event = {
        "wp_id": "WP02",
        "from_lane": "for_review",
        "to_lane": "planned",
        "review_ref": "feedback://shop-01/WP02/a.md",
    }
    write(
        person,
        {
            f"{folder}tasks/WP01-open.md": PACKAGE.format(id="WP01", title="Open", needs="[]"),
            f"{folder}tasks/WP02-bread.md": PACKAGE.format(id="WP02", title="Sell bread", needs="[WP01]"),
            f"{folder}tasks/WP03-butter.md": PACKAGE.format(id="WP03", title="Sell butter", needs="[WP02, WP01]"),
            f"{folder}tasks/WP03-butter/review-cycle-1.md": "---\nverdict: rejected\n---\nButter melts.\n",
            f"{folder}status.events.jsonl": json.dumps({"wp_id": "WP01", "to_lane": "done"}) + "\n" + json.dumps(event),
            ".git/spec-kitty/feedback/shop-01/WP02/a.md": "The loaf has no price.\n",
        },
    )


FORMATS: dict[str, tuple[dict[str, str], str, str, int]] = {
    # files, what is imported, its format, how many tasks are added
    "spec-runner": ({"spec/tasks.md": SPEC_RUNNER}, ".", "spec-runner", 2),
    "plan": ({"PLAN.md": PLAN}, "PLAN.md", "plan", 2),
    "spec-kit": ({"specs/001/tasks.md": SPEC_KIT, "specs/001/spec.md": "All of it."}, ".", "spec-kit", 2),
    "openspec": ({"openspec/changes/a/tasks.md": OPEN_SPEC}, "openspec", "openspec", 2),
    "checklist": ({"TODO.md": CHECKLIST}, "TODO.md", "checklist", 2),
    "gza": ({"t.yaml": GZA, "bread.txt": "Rye."}, "t.yaml", "gza", 2),
    "burnish": ({"t.yaml": OWN}, "t.yaml", "burnish", 2),
    "automaker": ({".automaker/features/a/feature.json": json.dumps(FEATURE)}, ".", "automaker", 1),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_detected_and_a_second_import_changes_nothing(name: str, person: Person) -> None:
    files, place, format, count = FORMATS[name]
    write(person, files)
    place = str(person.repo.path / place)
    dry = person.asks("import", place, "--dry-run")
    assert person.asks("status")["tasks"] == [] and dry["added"] == count and dry["format"] == format
    report = person.asks("import", place)
    fields = report["fields"]
    left = sum(one["count"] for one in fields["left"])
    assert fields["found"] == sum(fields["taken"].values()) + left == dry["fields"]["found"] > 0
    before = person.asks("status")["tasks"]
    assert len(before) == count
    again = person.asks("import", place)
    assert again["added"] == 0 and person.asks("status")["tasks"] == before
    ids = [one["id"] for one in report["tasks"] if one["outcome"] == "added"]
    assert [one["id"] for one in again["tasks"] if one["outcome"] == "present"] == ids


def test_spec_runner_tasks_keep_checklist_priority_and_dependencies(person: Person) -> None:
    write(person, {"spec/tasks.md": SPEC_RUNNER})
    report = person.asks("import", str(person.repo.path / "spec/tasks.md"))
    assert outcomes(report) == [("Sell bread", "added"), ("Sell butter", "added"), ("Open the shop", "finished")]
    bread, butter = shown(person, 1), shown(person, 2)
    assert bread["checklist"] == [{"text": "a price", "done": False}, {"text": "a name", "done": True}]
    assert (bread["priority"], butter["priority"], butter["depends_on"]) == (3, 1, ["1"])
    assert "By the loaf" not in bread["description"] and "Bread sells by the loaf." in bread["description"]
    reasons = {one["name"]: one["reason"] for one in report["fields"]["left"]}
    assert reasons == {"estimate": "burnish has no estimates", "dependency": "SHOP-003: it is finished"}


def test_the_state_of_spec_runner_says_what_is_finished(person: Person) -> None:
    write(person, {"spec/tasks.md": SPEC_RUNNER})
    with sqlite3.connect(person.repo.path / "spec/.executor-state.db") as database:
        database.execute("CREATE TABLE tasks (task_id TEXT PRIMARY KEY, status TEXT)")
        database.execute("INSERT INTO tasks VALUES ('SHOP-001', 'success')")
    assert [one[1] for one in outcomes(person.asks("import", str(person.repo.path)))].count("finished") == 2


def test_every_text_of_a_spec_runner_task_is_kept(person: Person) -> None:
    text = """
    ### SHOP-001: Sell bread
    🔴 P0 | ⬜ TODO

    **Description:** By the loaf.
    **Mode:** tdd
    **Touches:** shop/bread.py, shop/till.py

    **Checklist:**
    - [ ] a price

    **Tests (Definition of Done):**
    - [ ] a unit test

    **Verifies:**
    - tests/test_bread.py::test_price

    **Depends on:** [SHOP-009], [REQ-1]

    ---
    """
    write(person, {"spec/tasks.md": text})
    report = person.asks("import", str(person.repo.path))
    task = shown(person, 1)
    assert task["description"].split("\n\n") == [
        "By the loaf.\n**Mode:** tdd",
        "**Verifies:**\n- tests/test_bread.py::test_price",
    ]
    assert [item["text"] for item in task["checklist"]] == ["a price", "a unit test"]
    assert task["scope"] == "Files: shop/bread.py, shop/till.py"
    left = [(one["name"], one["reason"]) for one in report["fields"]["left"]]
    assert left == [("dependency", "SHOP-009: it is not in the source")]


def test_phases_and_changes_of_spec_runner_are_sources_of_their_own(person: Person) -> None:
    task = "### TASK-001: {}\nP1 | TODO\n### TASK-002: {}\nP1 | TODO\n**Depends on:** [TASK-001]\n"
    files = {
        "spec/tasks.md": task.format("Sell bread", "Count loaves"),
        "spec/phase2-tasks.md": task.format("Open", "Close"),
        "spec/changes/till/tasks.md": task.format("Buy a till", "Print receipts"),
    }
    write(person, files)
    with sqlite3.connect(person.repo.path / "spec/.executor-phase2-state.db") as database:
        database.execute("CREATE TABLE tasks (task_id TEXT, status TEXT)")
        database.execute("INSERT INTO tasks VALUES ('TASK-001', 'success')")
    person.asks("import", str(person.repo.path))
    tasks = {one["title"]: one for one in person.asks("status")["tasks"]}
    assert set(tasks) == {"Sell bread", "Count loaves", "Close", "Buy a till", "Print receipts"}
    assert tasks["Print receipts"]["depends_on"] == [tasks["Buy a till"]["id"]]
    assert tasks["Count loaves"]["depends_on"] == [tasks["Sell bread"]["id"]]
    assert tasks["Close"]["depends_on"] == []


def test_a_work_package_brings_its_reviews_along(person: Person) -> None:
    kitty(person)
    report = person.asks("import", str(person.repo.path), "--format", "spec-kitty")
    assert outcomes(report) == [("Open", "finished"), ("Sell bread", "added"), ("Sell butter", "added")]
    bread, butter = shown(person, 1), shown(person, 2)
    assert "The loaf has no price." in bread["description"] and bread["scope"] == "Files: shop.py"
    assert "Butter melts." in butter["description"] and butter["depends_on"] == ["1"]
    assert [item["text"] for item in bread["checklist"]] == ["T1", "T2"]
    assert findings(person, 1) == [("F1", "open", "The loaf has no price.")]
    assert findings(person, 2) == [("F1", "open", "Butter melts.")]
    assert {"name": "lane_hint", "reason": "burnish has no such field", "count": 2} in report["fields"]["left"]


@pytest.mark.parametrize(
    ("review", "items"),
    [
        (
            "## Issue 1: Free bread\nshop.py:1 has no price.\n\n## Issue 2: No test\nAdd one.\n",
            ["Issue 1: Free bread", "Issue 2: No test"],
        ),
        ("# Review\n## Issues\n1. **Free bread**\n2. No test\n## What looks good\n", ["Free bread", "No test"]),
        ("- Free bread\n  - shop.py:1\n- No test\n", ["Free bread", "No test"]),
        ("Bread is free.\nAsk for money.", ["Bread is free."]),
        ("", []),
    ],
)
def test_each_finding_of_a_review_in_prose_is_an_item(review: str, items: list[str]) -> None:
    assert [item.title for item in review_items(review)] == items


def test_the_state_of_a_mission_under_way_is_in_a_worktree_of_its_own(person: Person) -> None:
    kitty(person)
    event = {"wp_id": "WP03", "to_lane": "done", "at": "2026-05-01T10:00:00Z", "event_id": "x"}
    place = ".worktrees/shop-01-coord/kitty-specs/shop-01/status.events.jsonl"
    write(person, {place: json.dumps(event)})
    report = person.asks("import", str(person.repo.path), "--format", "spec-kitty")
    assert dict(outcomes(report)) == {"Open": "finished", "Sell bread": "added", "Sell butter": "finished"}


def test_only_the_newest_review_of_a_work_package_is_open(person: Person) -> None:
    package = PACKAGE.format(id="WP01", title="Sell bread", needs="[]")
    folder = "kitty-specs/shop-01/tasks/"
    reviews = {
        "1": "---\nverdict: rejected\n---\n- Free bread\n- No test\n",
        "2": "---\nverdict: rejected\n---\n- No test\n- No name\n",
    }
    files = {f"{folder}WP01-bread/review-cycle-{number}.md": text for number, text in reviews.items()}
    write(person, {f"{folder}WP01-bread.md": package, **files})
    place = str(person.repo.path / "kitty-specs")
    dry = person.asks("import", place, "--dry-run")
    assert dry["fields"]["taken"]["finding"] == 3
    person.types("import", place)
    states = [("F1", "resolved", "Free bread"), ("F2", "open", "No test"), ("F3", "open", "No name")]
    assert findings(person, 1) == states
    assert person.asks("import", place)["added"] == 0 and findings(person, 1) == states
    # an approval in the other tool settles all of them; that burnish has not approved anything stays
    write(person, {f"{folder}WP01-bread/review-cycle-3.md": "---\nverdict: approved\n---\nGood.\n"})
    person.types("rm", "1")
    person.types("import", place, "--again")
    assert {state for _, state, _ in findings(person, 2)} == {"resolved"}
    assert shown(person, 2)["status"] == "backlog"


def test_findings_of_a_feature_keep_their_state_and_those_above_the_limit_are_named(person: Person) -> None:
    rows = [{"title": "Old", "status": "fixed"}, {"title": "Minor", "severity": "warning"}]
    rows += [{"title": f"Problem {number}"} for number in range(MAX_FINDINGS)]
    feature = {"id": "f", "title": "Sell", "codeReviewSpec": {"iterations": [{"findings": rows}]}}
    write(person, {"features/a/feature.json": json.dumps(feature)})
    report = person.asks("import", str(person.repo.path / "features"))
    left = {one["name"]: one["count"] for one in report["fields"]["left"]}
    assert (report["fields"]["taken"]["finding"], left["finding"]) == (MAX_FINDINGS, 2)
    # open findings are taken before settled ones
    assert findings(person, 1)[:2] == [("F1", "open", "Minor"), ("F2", "open", "Problem 0")]
    write(
        person, {"features/a/feature.json": json.dumps(feature | {"id": "g", "codeReviewSpec": {"findings": rows[:3]}})}
    )
    person.asks("import", str(person.repo.path / "features"))
    assert [state for _, state, _ in findings(person, 2)] == ["resolved", "open", "open"]


def iteration(number: int, status: str, *findings: dict[str, Any], **others: str) -> dict[str, Any]:
    return {"iterationNumber": number, "status": status, "findings": list(findings), **others}


VALIDATION = {"category": "compliance", "severity": "error", "title": "No validation", "file": "a.ts", "line": 45}
HANDLING = {"category": "performance", "severity": "warning", "title": "Slow"}


@pytest.mark.parametrize(
    ("iterations", "states"),
    [
        (
            [iteration(1, "rejected", VALIDATION, HANDLING), iteration(2, "rejected", VALIDATION)],
            {"No validation": "open", "Slow": "resolved"},
        ),
        # a review that failed, or that names nothing, settles nothing
        ([iteration(1, "rejected", VALIDATION), iteration(2, "failed")], {"No validation": "open"}),
        ([iteration(1, "rejected", VALIDATION), iteration(2, "rejected")], {"No validation": "open"}),
        ([iteration(1, "rejected", rejectionReason="No tests.\nAdd some.")], {"No tests.": "open"}),
        (
            [iteration(1, "rejected", VALIDATION), iteration(2, "approved", HANDLING)],
            {"No validation": "resolved", "Slow": "resolved"},
        ),
    ],
)
def test_every_iteration_of_a_review_of_automaker_counts(
    iterations: list[dict[str, Any]], states: dict[str, str], person: Person
) -> None:
    feature = {"id": "f", "title": "Sell", "codeReviewSpec": {"status": "rejected", "iterations": iterations}}
    write(person, {"features/a/feature.json": json.dumps(feature)})
    report = person.asks("import", str(person.repo.path / "features"))
    assert {title: state for _, state, title in findings(person, 1)} == states
    assert report["fields"]["taken"]["finding"] == len(states)


def test_a_finding_of_automaker_keeps_its_category_and_says_which_line_it_was(person: Person) -> None:
    review = iteration(
        1, "rejected", VALIDATION, gitCommitHash="a1b2c3d4", rejectionReason="Passwords are not checked."
    )
    feature = {"id": "f", "title": "Sell", "codeReviewSpec": {"status": "rejected", "iterations": [review]}}
    write(person, {"features/a/feature.json": json.dumps(feature)})
    person.asks("import", str(person.repo.path / "features"))
    (finding,) = person.asks("findings", "1")["findings"]
    assert (finding["category"], finding["file"], finding["line"]) == ("compliance", "a.ts", None)
    assert finding["description"] == "It was line 45 of a1b2c3d4."
    assert "Passwords are not checked." in shown(person, 1)["description"]


def test_a_person_resolves_or_waives_an_imported_finding_before_the_first_run(person: Person) -> None:
    write(person, {"features/a/feature.json": json.dumps(FEATURE)})
    person.types("import", str(person.repo.path / "features"))
    person.types("resolve", "1", "F1", "--reason", "bread is free today")
    assert findings(person, 1) == [("F1", "resolved", "Free bread")]


def test_a_feature_of_automaker_brings_its_old_review_along(person: Person) -> None:
    write(person, {"features/a/feature.json": json.dumps(FEATURE)})
    person.types("import", str(person.repo.path / "features"))
    task = shown(person, 1)
    assert "No price" in task["description"] and "Free bread (shop.py)" in task["description"]
    assert (task["priority"], task["skip_tests"], task["tags"]) == (2, True, ["core-shop"])


def test_gza_tasks_are_read_from_its_database_which_stays_as_it_is(person: Person) -> None:
    path = person.repo.path / ".gza" / "gza.db"
    path.parent.mkdir()
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE tasks (project_id, id, prompt, status, task_type, depends_on, created_at)")
        database.execute("CREATE TABLE task_tags (project_id, task_id, tag)")
        rows = [
            ("gza-1", "Sell bread", "completed", "implement", None),
            ("gza-2", "Sell butter", "pending", "implement", "gza-1"),
        ]
        rows += [
            ("gza-3", "Plan the till", "pending", "plan", "gza-2"),
            ("gza-4", "Look", "pending", "review", "gza-2"),
        ]
        database.executemany("INSERT INTO tasks VALUES ('p', ?, ?, ?, ?, ?, '2026')", rows)
        database.execute("INSERT INTO task_tags VALUES ('p', 'gza-2', 'Dairy')")
    before = path.read_bytes()
    report = person.asks("import", str(person.repo.path))
    assert [one[1] for one in outcomes(report)] == ["finished", "added", "added", "refused"]
    assert (shown(person, 1)["tags"], shown(person, 2)["type"], shown(person, 2)["depends_on"]) == (
        ["dairy"],
        "plan",
        ["1"],
    )
    assert path.read_bytes() == before


def test_comments_of_gza_become_findings_of_their_task_and_are_counted(person: Person) -> None:
    path = person.repo.path / ".gza" / "gza.db"
    path.parent.mkdir()
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE projects (id, root_path)")
        database.execute("CREATE TABLE tasks (project_id, id, prompt, status, task_type, created_at)")
        database.execute("CREATE TABLE task_tags (project_id, task_id, tag)")
        database.execute("CREATE TABLE task_comments (id, project_id, task_id, content, kind, resolved_at)")
        projects = [("p", str(person.repo.path)), ("other", "/elsewhere")]
        database.executemany("INSERT INTO projects VALUES (?, ?)", projects)
        tasks = [("p", "shop-1", "Sell bread"), ("other", "shop-1", "Sell bricks")]
        database.executemany("INSERT INTO tasks VALUES (?, ?, ?, 'pending', 'implement', '2026')", tasks)
        database.executemany("INSERT INTO task_tags VALUES (?, 'shop-1', ?)", [("p", "food"), ("other", "stone")])
        comments = [
            (1, "p", "Mind the cents\n\nA loaf costs 3.05.", "feedback", None),
            (2, "p", "Name it loaf", "feedback", "2026-11-18T20:00:00"),
            (3, "p", "Only shop.py", "review_scope", None),
            (4, "other", "Heavier bricks", "feedback", None),
        ]
        database.executemany("INSERT INTO task_comments VALUES (?, ?, 'shop-1', ?, ?, ?)", comments)

    report = person.asks("import", str(path))

    findings = person.asks("findings", "1")["findings"]
    found = [(one["title"], one["description"], one["state"]) for one in findings]
    assert found == [("Mind the cents", "A loaf costs 3.05.", "open"), ("Name it loaf", "", "resolved")]
    assert shown(person, 1)["tags"] == ["food"]
    fields = report["fields"]
    assert fields["taken"]["finding"] == 2
    left = [(one["name"], one["count"]) for one in fields["left"] if one["name"] == "comment"]
    assert left == [("comment", 1)]
    assert fields["found"] == sum(fields["taken"].values()) + sum(one["count"] for one in fields["left"])


def test_a_task_that_is_blocked_in_the_other_tool_is_named_because_burnish_would_run_it(person: Person) -> None:
    write(person, {"spec/tasks.md": "### TASK-1: Sell bread\n\u23f8\ufe0f P1 | BLOCKED | Est: 1d\n"})
    report = person.asks("import", str(person.repo.path / "spec/tasks.md"))
    left = {one["name"]: one["reason"] for one in report["fields"]["left"]}
    assert left["status"] == "BLOCKED there, and ready to run here; `burnish pause` keeps it back"


def test_an_item_of_a_checklist_keeps_its_section_and_its_own_items(person: Person) -> None:
    write(person, {"TODO.md": CHECKLIST})
    person.types("import", str(person.repo.path / "TODO.md"))
    bread = shown(person, 1)
    assert bread["description"] == "by the loaf\n\nSection: Todo"
    assert [item["text"] for item in bread["checklist"]] == ["a price"]


def test_items_with_a_number_are_items(person: Person) -> None:
    write(person, {"TODO.md": "1. [ ] Sell bread\n   By the loaf.\n   1) [ ] a price\n2. [x] Open\n3. Not a task\n"})
    report = person.asks("import", str(person.repo.path / "TODO.md"))
    assert outcomes(report) == [("Sell bread", "added"), ("Open", "finished")]
    bread = shown(person, 1)
    assert (bread["description"], [item["text"] for item in bread["checklist"]]) == ("By the loaf.", ["a price"])


@pytest.mark.parametrize("folder", ["specs/001", "openspec/changes/bread"])
def test_a_file_of_phases_is_the_same_source_by_its_name_and_in_its_folder(folder: str, person: Person) -> None:
    write(person, {f"{folder}/tasks.md": "## Phase 1\n- [ ] T001 Knead\n- [ ] And bake\n## Phase 2\n- [ ] T002 Sell\n"})
    person.asks("import", f"{folder}/tasks.md")
    report = person.asks("import", ".")
    assert outcomes(report) == [("Phase 1", "present"), ("Phase 2", "present")]


def test_phases_of_a_specification_follow_each_other_and_carry_it(person: Person) -> None:
    write(person, FORMATS["spec-kit"][0])
    person.types("import", str(person.repo.path))
    shop, till = shown(person, 1), shown(person, 2)
    assert shop["title"] == "Phase 2: Shop" and len(shop["checklist"]) == 2 and shop["plan"] == "All of it."
    assert till["depends_on"] == ["1"]


def test_boxes_of_openspec_are_read_as_openspec_reads_them(person: Person) -> None:
    lines = ("- [ x] 1.1 Knead", "- [X ] 1.2 Bake", "- [] 1.3 Cut", "- [~] 1.4 Wrap", "- [-] 1.5 Sell", "- [1] a note")
    person.repo.write({"openspec/changes/bread/tasks.md": "## 1. Bread\n\n" + "\n".join(lines) + "\n"})
    person.types("import", ".")
    shown = person.types("show", "1")
    assert [line.strip() for line in shown.splitlines() if line.strip().startswith("[")] == [
        *("[x] 1.1 Knead", "[x] 1.2 Bake", "[ ] 1.3 Cut", "[ ] 1.4 Wrap", "[ ] 1.5 Sell"),
    ]


def test_a_change_of_openspec_carries_its_requirements_and_its_name(person: Person) -> None:
    files = {
        "openspec/changes/add-bread/tasks.md": OPEN_SPEC,
        "openspec/changes/add-bread/proposal.md": "Why: hunger.",
        "openspec/changes/add-bread/specs/shop/spec.md": "The shop SHALL sell bread.",
        "openspec/changes/add-tea/tasks.md": OPEN_SPEC,
    }
    write(person, files)
    person.asks("import", str(person.repo.path))
    tasks = [shown(person, number) for number in range(1, 5)]
    assert [task["tags"] for task in tasks] == [["add-bread"], ["add-bread"], ["add-tea"], ["add-tea"]]
    assert tasks[0]["plan"] == "Why: hunger.\n\nThe shop SHALL sell bread."
    assert tasks[2]["plan"] == ""


def test_a_work_package_has_the_texts_of_its_subtasks(person: Person) -> None:
    folder = "kitty-specs/shop-01/"
    package = PACKAGE.format(id="WP01", title="Open", needs="[]")
    write(person, {f"{folder}tasks/WP01-open.md": package, f"{folder}tasks.md": "- [x] T1 Buy a door (WP01)\n"})
    person.asks("import", str(person.repo.path))
    assert shown(person, 1)["checklist"] == [
        {"text": "T1 Buy a door (WP01)", "done": True},
        {"text": "T2", "done": False},
    ]


def test_a_database_that_projects_of_gza_share_gives_the_tasks_of_this_repository(
    person: Person, tmp_path: Path
) -> None:
    path = tmp_path / "shared.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE projects (id TEXT, root_path TEXT)")
        database.execute("CREATE TABLE tasks (project_id TEXT, id TEXT, prompt TEXT, created_at TEXT)")
        database.executemany("INSERT INTO projects VALUES (?, ?)", [("shop", "/shop"), ("here", str(person.repo.path))])
        database.executemany(
            "INSERT INTO tasks VALUES (?, ?, ?, ?)", [("shop", "shop-1", "Bread", "1"), ("here", "here-1", "Tea", "2")]
        )
    assert outcomes(person.asks("import", str(path))) == [("Tea", "added")]
    with sqlite3.connect(path) as database:
        database.execute("UPDATE projects SET root_path = '/tea' WHERE id = 'here'")
    person.types("import", str(path), code=2)
    assert "tasks of several projects (shop, here)" in person.err


def test_the_own_files_of_spec_kit_are_not_taken_for_features_of_automaker(person: Person) -> None:
    write(person, {"specs/001/tasks.md": SPEC_KIT, ".specify/feature.json": '{"feature_directory": "specs/001"}'})
    assert person.asks("import", str(person.repo.path))["format"] == "spec-kit"


def test_tests_and_code_of_one_story_are_one_task(person: Person) -> None:
    text = """
    # Tasks: Shop

    ## Phase 1: User Story 1 - Bread

    **Goal**: Sell bread

    ### Tests for User Story 1

    > Write these tests first, they must fail

    - [ ] T001 [US1] Test the price

    ### Implementation for User Story 1

    - [ ] T002 [US1] Add the price

    ---

    ## Dependencies

    None.
    """
    write(person, {"specs/001/tasks.md": text})
    person.asks("import", str(person.repo.path))
    assert [task["title"] for task in person.asks("status")["tasks"]] == ["Phase 1: User Story 1 - Bread"]
    task = shown(person, 1)
    assert [item["text"] for item in task["checklist"]] == ["T001 [US1] Test the price", "T002 [US1] Add the price"]
    assert task["description"].split("\n\n") == [
        "**Goal**: Sell bread",
        "### Tests for User Story 1",
        "> Write these tests first, they must fail",
    ]


def test_own_yaml_takes_every_field_and_names_the_others(person: Person) -> None:
    write(person, {"t.yaml": OWN})
    report = person.asks("import", str(person.repo.path / "t.yaml"))
    bread = shown(person, 1)
    assert bread["criteria"] == ["A loaf costs 3, and not 4"]
    assert bread["priority"] == 5 and bread["checklist"][0]["done"] and shown(person, 2)["depends_on"] == ["1"]
    assert report["fields"]["left"] == [{"name": "colour", "reason": "burnish has no such field", "count": 1}]


def issue(number: int, title: str, body: str = "", state: str = "OPEN", **others: Any) -> dict[str, Any]:
    """As gh prints it, with all fields that burnish asks for."""
    empty = {"labels": [], "milestone": None, "assignees": [], "url": f"https://example.org/acme/shop/issues/{number}"}
    return {"number": number, "title": title, "body": body, "state": state, **empty, **others}


ISSUES = [
    issue(7, "Sell bread", labels=[{"id": "L1", "name": "good first issue", "color": "7057ff"}]),
    issue(8, "Open", state="CLOSED", milestone={"number": 1, "title": "v1"}),
    issue(9, "Sell butter", "Depends on #7 and #8.\r\n- [ ] a price\r\n1. [x] a name\r\n"),
]


def test_issues_of_github_are_read_through_gh(person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gh = GhStandIn.make(tmp_path / "gh", person.repo.path)
    with gh.change() as state:
        state["issues"] = ISSUES
    monkeypatch.setenv("PATH", gh.path)
    dry = person.asks("import", "gh:acme/shop", "--dry-run")
    assert dry["fields"]["found"] == sum(dry["fields"]["taken"].values()) + sum(
        one["count"] for one in dry["fields"]["left"]
    )
    assert person.asks("status")["tasks"] == []
    report = person.asks("import", "gh:acme/shop")
    assert outcomes(report) == [("Sell bread", "added"), ("Open", "finished"), ("Sell butter", "added")]
    assert shown(person, 1)["tags"] == ["good-first-issue"] and shown(person, 2)["depends_on"] == ["1"]
    assert shown(person, 2)["checklist"] == [{"text": "a price", "done": False}, {"text": "a name", "done": True}]
    assert "--repo=acme/shop" in gh.state["calls"][-1]["argv"]
    assert person.asks("import", "gh:acme/shop")["added"] == 0


def test_tasks_that_wait_for_each_other_are_refused_by_name(person: Person) -> None:
    needs = {"a": "b", "b": "c", "c": "[b]"}
    text = "tasks:\n" + "".join(f"- {{key: {a}, title: {a}, depends_on: {b}}}\n" for a, b in needs.items())
    write(person, {"t.yaml": text})
    person.types("import", str(person.repo.path / "t.yaml"), code=2)
    assert "b → c → b" in person.err and person.asks("status")["tasks"] == []


def test_nothing_is_imported_if_one_task_is_refused_by_burnish(person: Person) -> None:
    write(person, {"t.yaml": "tasks:\n- {title: A}\n- {title: B, base: no-such-branch}\n"})
    person.types("import", str(person.repo.path / "t.yaml"), code=2)
    assert "no-such-branch" in person.err and person.asks("status")["tasks"] == []


@pytest.mark.parametrize(
    ("files", "place", "words"),
    [
        ({}, "missing.md", "does not exist"),
        ({}, ".", "No task files"),
        ({"a.md": "Just words.\n"}, "a.md", "holds no tasks that burnish recognizes"),
        ({"a.yaml": "tasks: [1"}, "a.yaml", "is not valid YAML"),
        ({"a.yaml": "tasks: 3"}, "a.yaml", "has no list of tasks"),
        ({"a.json": "{"}, "a.json", "cannot be read"),
        ({"a.db": "no database"}, "a.db", "cannot be read"),
        ({"PLAN.md": PLAN, "tasks.yaml": OWN}, ".", "several tools: plan, burnish"),
    ],
)
def test_bad_input_is_refused_in_two_lines(files: dict[str, str], place: str, words: str, person: Person) -> None:
    write(person, files)
    person.types("import", str(person.repo.path / place), code=2)
    assert words in person.err and len(person.err.splitlines()) == 2


def test_a_link_of_the_repository_does_not_lead_to_a_file_of_the_user(person: Person, tmp_path: Path) -> None:
    (tmp_path / "private.md").write_text("- [ ] secret\n")
    (person.repo.path / "PLAN.md").symlink_to(tmp_path / "private.md")
    person.types("import", str(person.repo.path), code=2)
    assert "No task files" in person.err


PHASES = "# T\n\n## Phase 1\n\n- [ ] T001 a\n"
GROUPS = "# T\n\n## 1. Do\n\n- [ ] 1.1 a\n"
ONE_PACKAGE = "---\nwork_package_id: WP01\ntitle: A\n---\nDo it\n"
POINTER = '{"wp_id": "WP01", "to_lane": "planned", "review_ref": "KIND://m/p/f.md", "at": "1"}\n'


@pytest.mark.parametrize(
    ("files", "link"),
    [
        ({"specs/a/tasks.md": PHASES}, "specs/a/spec.md"),
        ({"specs/a/tasks.md": PHASES}, "specs/a/plan.md"),
        ({"openspec/changes/a/tasks.md": GROUPS}, "openspec/changes/a/design.md"),
        ({"kitty-specs/m/tasks/WP01-a.md": ONE_PACKAGE}, "kitty-specs/m/tasks/WP01-a/review-cycle-1.md"),
        (
            {
                "kitty-specs/m/tasks/WP01-a.md": ONE_PACKAGE,
                "kitty-specs/m/status.events.jsonl": POINTER.replace("KIND", "review-cycle"),
            },
            "kitty-specs/m/tasks/p/f.md",
        ),
        (
            {
                "kitty-specs/m/tasks/WP01-a.md": ONE_PACKAGE,
                "kitty-specs/m/status.events.jsonl": POINTER.replace("KIND", "feedback"),
            },
            ".git/spec-kitty/feedback/m/p/f.md",
        ),
        ({"tasks.yaml": "tasks:\n- {prompt: do, spec: link.md}\n"}, "link.md"),
    ],
)
def test_a_link_beside_a_task_file_is_not_read(
    files: dict[str, str], link: str, person: Person, tmp_path: Path
) -> None:
    write(person, files)
    (tmp_path / "private.md").write_text("my private words\n")
    place = person.repo.path / link
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(tmp_path / "private.md")
    person.types("import", str(person.repo.path))
    assert "private words" not in json.dumps(shown(person, 1))


@pytest.mark.parametrize("name", [".env", ".git/config"])
def test_a_task_of_gza_cannot_name_a_hidden_file_as_its_specification(name: str, person: Person) -> None:
    write(person, {"tasks.yaml": f"tasks:\n- {{prompt: do, spec: {name}}}\n"})
    place = person.repo.path / name
    place.write_text(f"{place.read_text() if place.exists() else ''}\n# private words\n")
    person.types("import", str(person.repo.path))
    assert "private words" not in json.dumps(shown(person, 1))


def test_a_named_link_that_leads_out_of_the_repository_is_refused(person: Person, tmp_path: Path) -> None:
    (tmp_path / "private.md").write_text("- [ ] secret\n")
    (person.repo.path / "todo.md").symlink_to(tmp_path / "private.md")
    person.types("import", str(person.repo.path / "todo.md"), code=2)
    assert "leads out of the repository" in person.err


BLANKS = " " * 20_000


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.json", "[" * 100_000, "nested too deep"),
        ("a.json", '{"id": "x", "title": "t", "codeReviewSpec": {"findings": 5}}', ""),
        ("a.md", f"# a{BLANKS}b\n\n- [ ] x\n", ""),
        ("a.md", f"# {'#' * 60_000}x\n- [ ] y\n", ""),
        ("a.md", f"# X\n\n### A-1: t\n\n{BLANKS}-{BLANKS}P{BLANKS}\n", ""),
        ("a.md", "- [ ] x\n" * 20_000, "more than 10,000 tasks"),
        ("a.yaml", "tasks:\n" + "- {title: x}\n" * 30_000, "more than 20000 entries"),
    ],
    ids=["deep JSON", "odd shape", "blanks", "number signs", "blanks before a priority", "many items", "many entries"],
)
def test_a_file_made_to_be_slow_or_wrong_is_read_or_refused_soon(
    name: str, text: str, words: str, person: Person
) -> None:
    write(person, {name: text})
    person.types("import", str(person.repo.path / name), "--dry-run", code=2 if words else 0)
    assert words in person.err


@pytest.mark.parametrize(
    "columns", ["count(*) AS id", "x AS id, hex(zeroblob(100000000)) AS spec"], ids=["endless", "huge"]
)
def test_a_database_whose_query_never_ends_is_refused(
    columns: str, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("burnish.features.import_tasks.databases._QUERY_SECONDS", 0.2)
    with sqlite3.connect(person.repo.path / "a.db") as database:
        endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
        database.execute(f"CREATE VIEW tasks AS {endless} SELECT {columns}, 'do' AS prompt, 1 AS created_at FROM c")
    person.types("import", str(person.repo.path / "a.db"), code=2)
    assert "the database cannot be read" in person.err


def test_issues_that_are_none_are_refused(person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gh").write_text(f"#!/bin/sh\ncat {tmp_path}/issues\n")
    (tmp_path / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    for text in ('{"a": 1}', "[1]", "[" * 100_000):
        (tmp_path / "issues").write_text(text)
        person.types("import", "gh:acme/shop", code=2)
    (tmp_path / "issues").write_text(json.dumps([{"number": 1, "title": "t", "body": f"depends on{BLANKS * 3}x"}]))
    person.types("import", "gh:acme/shop")


def test_a_task_that_the_other_tool_finished_after_the_import_is_named_until_it_is_closed(person: Person) -> None:
    write(person, {"todo.md": "- [ ] Bake\n"})
    person.types("import", "todo.md")
    write(person, {"todo.md": "- [x] Bake\n"})
    assert "(imported before as task 1; differs from the source now: finished there)" in person.types(
        "import", "todo.md"
    )
    assert "burnish cancel" in person.err
    person.types("cancel", "1")
    assert "(imported before as task 1)" in person.types("import", "todo.md")


def test_a_changed_source_is_named_and_changes_nothing(person: Person) -> None:
    write(person, {"PLAN.md": PLAN})
    person.types("import", "PLAN.md")
    before = person.asks("show", "1")
    write(person, {"PLAN.md": PLAN.replace("a loaf costs 3", "a loaf costs 4")})

    report = person.asks("import", "PLAN.md")

    assert [(one["outcome"], one["reason"]) for one in report["tasks"]][:1] == [("differs", "criteria")]
    assert report["added"] == 0 and person.asks("show", "1") == before
    assert "differs from the source now: criteria" in person.types("import", "PLAN.md")


def test_a_removed_task_is_added_again_only_if_asked_for(person: Person) -> None:
    write(person, {"PLAN.md": PLAN})
    person.types("import", "PLAN.md")
    person.types("rm", "2")

    shown = person.types("import", "PLAN.md")
    report = person.asks("import", "PLAN.md", "--again")

    assert "removed before, as task 2" in shown
    assert report["added"] == 1 and person.asks("import", "PLAN.md")["added"] == 0


def test_add_takes_a_file_of_tasks(person: Person) -> None:
    write(person, {"tasks.yaml": "tasks:\n  - title: Sell bread\n  - title: Sell butter\n"})

    assert person.asks("add", "-f", "tasks.yaml")["added"] == 2
    person.types("add", "Title", "-f", "tasks.yaml", code=2)
    assert "cannot be combined" in person.err
    person.types("add", code=2)
    assert "Missing argument 'TITLE'" in person.err
