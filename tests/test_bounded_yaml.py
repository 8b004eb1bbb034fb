"""YAML files that would take long: they are refused, in settings and in front matter."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from ruamel.yaml.error import YAMLError

from burnish.agents import scripted_main
from burnish.bounded_yaml import load_yaml
from burnish.config.sources import scalar, yaml_layer
from burnish.errors import BadInput
from burnish.exchange.task_markdown import front_matter
from burnish.review.artifact import load
from burnish.review.external.reader import read_markdown
from burnish.review.reading import Expect
from burnish.review.static.syntax import _yaml_flaws
from testing.attack_counts import CountAttacks

HOSTILE = {
    "aliases in a mapping": "a: &x {command: ls}\n" + "".join(f"b{n}: *x\n" for n in range(20_000)),
    "aliases in a list": "a: &x [1]\nb: [" + "*x, " * 20_000 + "*x]\n",
    "few aliases of much": "a: &x [" + "1, " * 900 + "1]\nb: [*x, *x, *x, *x]\n",
    "merges": "a: &x {" + ", ".join(f"k{n}: 1" for n in range(900)) + "}\n" + "".join(
        f"m{n}: {{<<: *x}}\n" for n in range(900)
    ),
    "unknown keys": "".join(f"k{n}: 1\n" for n in range(9000)),
    "a circle": "a: &x [*x]\n",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_file_that_means_more_than_it_has_is_refused_at_once(tmp_path: Path, text: str) -> None:
    path = tmp_path / "burnish.yaml"
    path.write_text(text)
    start = time.process_time()
    with pytest.raises(BadInput, match=r"more than 3000 entries|nested too deep"):
        yaml_layer(path, "burnish.yaml")
    with pytest.raises(ValueError, match=r"more than 3000 entries|nested too deep"):
        load(text)
    page = f"---\nverdict: approved\n{text}---\n\nVerdict: APPROVED\n"
    assert "front matter cannot be read" in getattr(
        read_markdown(page, verdict=None, number="", expect=Expect()), "why", ""
    )
    assert time.process_time() - start < 5


# entries of aliases, in a form that is a list of steps
STEPS = "- {on: review, x: &x [" + "1, " * 100 + "1]}\n" + "- {on: review, x: *x}\n" * 100


@pytest.mark.slow
def test_the_script_of_an_agent_is_limited(tmp_path: Path) -> None:
    for text in (STEPS, "- &x {a: *x}\n", "[" * 2000, "- {on: review}\n" * 12_000):
        path = tmp_path / "script.yaml"
        path.write_text(text)
        start = time.process_time()
        with pytest.raises(SystemExit, match=r"more than 10000 entries|nested too deep"):
            scripted_main.load(path)
        assert time.process_time() - start < 10
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    with pytest.raises(SystemExit, match="not a file"):
        scripted_main.load(pipe)


# the parser raises errors of Python for these
STUMBLES = (
    "? [[x]]\n: 1\n", "? {a: b}\n: 1\n", 'a: "\\UFFFFFFFF"\n', "a: !!bool maybe\n", "a: !!int x\n", "a: !!float x\n",
    "a: !!timestamp x\n", "a: 2001-13-45\n", "a: !!binary '#'\n", "a: !!omap [x]\n", "a: 0x\nb: !!int ''\n",
)  # fmt: skip


def test_a_value_that_the_parser_stumbles_over_is_an_error_of_the_file(
    tmp_path: Path, count_attacks: CountAttacks
) -> None:
    """Such a file of a clone would else end every command, and the board of all projects, as a bug of burnish."""
    path = tmp_path / "burnish.yaml"
    crashes = []
    for text in STUMBLES:
        path.write_text(text)
        readers: tuple[Callable[[], object], ...] = (
            lambda: yaml_layer(path, "burnish.yaml"),
            lambda text=text: load_yaml(text, most=20),  # type: ignore[misc]
            lambda text=text: load(text),  # type: ignore[misc]
            lambda text=text: front_matter(f"---\n{text}---\n"),  # type: ignore[misc]
        )
        for read in readers:
            try:
                read()
            except (BadInput, ValueError, YAMLError):
                continue
            except Exception as error:
                crashes.append((text, error))
    count_attacks("a crash by a hostile YAML file", 4 * len(STUMBLES), len(crashes))
    assert crashes == []


def test_a_value_of_the_environment_is_limited() -> None:
    start = time.process_time()
    text = "x: " + "[" * 2000
    assert scalar(text, "BURNISH__X") == text
    assert scalar("- &x [*x, *x]", "BURNISH__X") == "- &x [*x, *x]"
    assert time.process_time() - start < 5


def test_honest_anchors_and_merges_are_read() -> None:
    text = "base: &b {a: 1, c: 2}\nx: {<<: *b, a: 3}\ny: *b\n"
    assert load_yaml(text, most=20) == {"base": {"a": 1, "c": 2}, "x": {"a": 3, "c": 2}, "y": {"a": 1, "c": 2}}
    assert load_yaml("", most=20) is None


@pytest.mark.slow
def test_a_large_file_that_is_not_valid_is_not_read_by_the_slow_parser() -> None:
    start = time.process_time()
    _yaml_flaws("".join(f"k{n}: 1\n" for n in range(90_000)) + "\t@: [\n")
    assert time.process_time() - start < 5
