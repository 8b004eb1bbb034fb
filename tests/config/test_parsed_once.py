"""A settings file is parsed once per text, also one that is refused: a hostile one takes seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.config import sources
from burnish.errors import BadInput


def test_a_file_that_is_refused_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    parse = sources.parse_yaml

    def count(text: str, name: str) -> object:
        calls.append(name)
        return parse(text, name)

    monkeypatch.setattr(sources, "parse_yaml", count)
    file = tmp_path / "burnish.yaml"
    file.write_text(f"agent: [  # {tmp_path}\n")
    problems = []
    for _ in range(3):
        with pytest.raises(BadInput) as caught:
            sources.yaml_layer(file, "burnish.yaml")
        problems.append((caught.value.what, caught.value.hint))
    assert calls == ["burnish.yaml"] and len(set(problems)) == 1 and "not valid YAML" in problems[0][0]
