"""Plain words in help texts, messages, docs and templates; links in docs that lead somewhere."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from burnish.cli.main import build

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "burnish"
DOCS = ROOT / "docs"

# Each phrase with what to write instead.
PHRASES = {
    r"\bwho(?:m)?ever\b": "anyone who; each process that",
    r"\banew\b": "again",
    r"\bmend(?:s|ed|ing)?\b": "fix, repair",
    r"\bnobody's (?:business|friend)\b": "say what the program does",
    r"\bsays? so\b": "reports it; states it",
    r"(?<!there )\b(?:is|are) no (?!longer\b|more\b)[a-z]": "is not a …",
    r"\bis nothing that\b": "Unknown …",
    r"\bthere is no use for\b": "Unexpected argument …",
    r"\blive with\b": "waive",
    r"\bdearest\b": "most expensive",
    r"\bleft in peace\b": "is not changed",
    r"\bso many at once\b": "up to N in parallel",
    r"\bin so many words\b": "explicitly",
    r"\bfor the record\b": "kept with the decision",
    r"\bgives? (?:it|them) up\b": "cancel",
    r"\bnobody\b": "no reviewer; no runner; unknown",
    r"\bhopeless\b": "why it is aborted",
    r"\bbe told (?:from|apart)\b": "be distinguished",
    r"\bstand(?:s|ing)? in the way\b": "block",
}
_ANY = re.compile("|".join(f"(?:{phrase})" for phrase in PHRASES), re.IGNORECASE)

# Files that still have such phrases. The list may only get shorter.
NOT_YET_CLEAN: frozenset[str] = frozenset()


def _pages() -> list[Path]:
    return [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted(DOCS.glob("*.md")),
        *sorted(SOURCE.rglob("README.md")),
    ]


def _strings(path: Path) -> Iterator[tuple[int, str]]:
    """String literals of a module. Docstrings count only in `cli`, where they are help texts."""
    tree = ast.parse(path.read_text("utf-8"))
    docstrings = set()
    if "cli" not in path.parts:
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
                first = node.body[0]
                if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                    docstrings.add(id(first.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def _texts() -> Iterator[tuple[Path, Iterator[tuple[int, str]]]]:
    for page in [*_pages(), *sorted(SOURCE.rglob("*.j2")), *sorted(SOURCE.rglob("*.js"))]:
        lines = enumerate(page.read_text("utf-8").splitlines(), 1)
        # comments in scripts are not shown to users
        yield page, ((number, line) for number, line in lines if not line.lstrip().startswith(("//", "*", "/*")))
    for module in sorted(SOURCE.rglob("*.py")):
        yield module, _strings(module)


@pytest.fixture(scope="module")
def found() -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for path, texts in _texts():
        name = path.relative_to(ROOT).as_posix()
        for line, text in texts:
            if match := _ANY.search(text):
                places.setdefault(name, []).append(f"{name}:{line}: {match[0]!r}")
    return places


@pytest.mark.slow
def test_texts_for_users_use_plain_words(found: dict[str, list[str]]) -> None:
    new = [place for name, places in found.items() if name not in NOT_YET_CLEAN for place in places]
    assert not new, "\n".join(["Use the usual words (tests/test_words.py lists them):", *new])


def test_a_file_that_is_clean_leaves_the_list(found: dict[str, list[str]]) -> None:
    assert sorted(NOT_YET_CLEAN - found.keys()) == [], "remove these from NOT_YET_CLEAN"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Whoever has this address", True),
        ("An empty reply is no approval", True),
        ("The branch is no longer there", False),
        ("There is no branch", False),
        ("There are no tasks", False),
        ("amended", False),
        ("A key that nobody knows is an error", True),
        ("New failures cannot be told from old ones", True),
        ("`burnish run` decides anew", True),
    ],
)
def test_the_phrases_match_what_they_mean(text: str, expected: bool) -> None:
    assert bool(_ANY.search(text)) is expected


_FENCE = re.compile(r"^( *)(`{3,}).*?^\1\2", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")


def _prose(page: Path) -> str:
    return _FENCE.sub("", page.read_text("utf-8"))


def _anchors(page: Path) -> set[str]:
    """The ids that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", _prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", _pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_each_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    broken = []
    for target in _LINK.findall(_prose(page)):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists() or (anchor and anchor not in _anchors(file)):
            broken.append(target)
    assert not broken


# the agent, the command and the pages that CONTRIBUTING.md adds as examples
EXAMPLES = {"parrot", "test_parrot", "ping", "about", "test_about", "NAME"}


@pytest.mark.parametrize("page", _pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_each_file_that_a_page_names_exists(page: Path) -> None:
    names = re.findall(
        r"`((?:docs|tests/\w+|tools|testing|src/burnish)/[\w/.-]+\.(?:py|md|toml|sql|png|svg))`", _prose(page)
    )
    assert [name for name in names if Path(name).stem not in EXAMPLES and not (ROOT / name).exists()] == []


# A reference page that is generated from the code.
NO_EXAMPLE = {"settings.md"}


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_each_page_opens_with_an_example(page: Path) -> None:
    opening = page.read_text("utf-8").partition("\n## ")[0]
    has_example = page.name in NO_EXAMPLE or "```" in opening or "\n    burnish " in opening
    assert has_example, "Put a code block with an example before the first heading of level 2."


def test_each_page_that_a_message_names_exists() -> None:
    for module in [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.j2")]:
        for name in re.findall(r"\((?:see )?(docs/[\w-]+\.md)|[Ss]ee (docs/[\w-]+\.md)", module.read_text("utf-8")):
            assert (ROOT / "".join(name)).exists(), module


def test_the_index_lists_every_page() -> None:
    index = set(_LINK.findall((DOCS / "README.md").read_text("utf-8")))
    missing = {page.name for page in DOCS.glob("*.md")} - index - {"README.md"}
    assert not missing, "Add the page to a table in docs/README.md."


def test_each_command_in_an_example_is_one_that_burnish_understands() -> None:
    commands = build().commands
    for page in _pages():
        for line in re.findall(r"^\$ burnish ([a-z].*)$", page.read_text("utf-8"), re.MULTILINE):
            # what follows belongs to the shell
            name, *arguments = shlex.split(re.split(r" [|>&] ?|;", line)[0], comments=True)
            assert name in commands, f"{page.name}: {line}"
            commands[name].make_context(name, arguments)  # raises on an argument or option that it does not know
