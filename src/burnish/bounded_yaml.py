"""Reads YAML in bounded time: aliases and merges can make a small file mean a huge or endless one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ruamel.yaml import YAML
    from ruamel.yaml.composer import Composer

MAX_DEPTH = 40


def bounded_parser(most: int) -> YAML:
    """A parser that stops with a ValueError at `most` entries: a hostile file would else take many seconds."""
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.Composer = _bounded_composer(most)
    return yaml


def load_yaml(text: str, *, most: int) -> Any:
    """The one document of the text. Raises ValueError or YAMLError; an alias counts as all of its entries."""
    yaml = bounded_parser(most)
    with parser_errors():
        node = yaml.compose(text)
        if node is None:
            return None
        _check_size(node, most)
        return yaml.constructor.construct_document(node)


@contextmanager
def parser_errors() -> Iterator[None]:
    """Raise ValueError for values on which the parser fails: a list as a key, `!!bool maybe`, a code out of range."""
    try:
        yield
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except (LookupError, TypeError, AttributeError, ArithmeticError, AssertionError) as error:
        raise ValueError(f"it has a value that cannot be read ({type(error).__name__})") from None


def _check_size(root: Any, most: int) -> None:
    level, count = [root], 0
    for _ in range(MAX_DEPTH + 1):
        values = [node.value for node in level if not isinstance(node.value, str)]
        level = []
        for value in values:
            count += len(value)
            if count > most:
                raise ValueError(f"it has more than {most} entries")
            level += [one[1] if isinstance(one, tuple) else one for one in value]
        if not level:
            return
    raise ValueError("it is nested too deep")


@lru_cache(maxsize=4)
def _bounded_composer(most: int) -> type[Composer]:
    from ruamel.yaml.composer import Composer

    class BoundedComposer(Composer):
        depth = 0
        nodes = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            self.nodes += 1
            # a key and its value are a node each
            if self.nodes > 2 * most:
                raise ValueError(f"it has more than {most} entries")
            if self.depth > MAX_DEPTH:
                raise ValueError("it is nested too deep")
            self.depth += 1
            try:
                return super().compose_node(parent, index)
            finally:
                self.depth -= 1

    return BoundedComposer
