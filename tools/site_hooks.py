"""Hooks of mkdocs: pages in the order of docs/README.md, with CONTRIBUTING.md and CHANGELOG.md among them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

# pages of the repository's root, with their names on the site
ROOT_PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
_FOLDER_PAGE = re.compile(r"\[[^\]]+\]\(([\w/]+/README\.md)\)")
_ROW = re.compile(r"^\| \[([^\]]+)\]\(([^)]+)\)")


def navigation(index: str) -> list[dict[str, Any]]:
    """The sections and pages of docs/README.md."""
    sections: list[dict[str, Any]] = [{"Documentation": "README.md"}]
    pages: list[dict[str, str]] = []
    for line in index.splitlines():
        if line.startswith("## "):
            pages = []
            sections.append({line.removeprefix("## "): pages})
        elif match := _ROW.match(line):
            pages.append({match[1]: ROOT_PAGES.get(match[2].removeprefix("../"), match[2])})
    return sections


def on_config(config: Any) -> Any:
    config.nav = navigation((Path(config.docs_dir) / "README.md").read_text())
    return config


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    root = Path(config.docs_dir).parent
    for name, page in ROOT_PAGES.items():
        files.append(File.generated(config, page, content=_for_site((root / name).read_text(), at_root=True)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    return _for_site(markdown)


def _for_site(text: str, *, at_root: bool = False) -> str:
    """The text with links that hold on the site, where all pages are in one folder."""
    for name, page in ROOT_PAGES.items():
        text = text.replace(f"](../{name}", f"]({page}").replace(f"]({name}", f"]({page}" if at_root else f"]({name}")
    if not at_root:
        return text
    # the README of a folder is not a page
    return _FOLDER_PAGE.sub(r"`\1`", text.replace("](docs/", "]("))
