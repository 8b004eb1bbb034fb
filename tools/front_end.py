"""Check the CSS, the templates and the JavaScript of the board.

    .venv/bin/python -m tools.front_end

Prints one line for each problem and exits with 1 if there is one. JavaScript syntax is checked where node is installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jinja2 import TemplateSyntaxError

from burnish.web.pages.rendering import templates

WEB = Path(__file__).resolve().parents[1] / "src" / "burnish" / "web"
MAX_LINE_LENGTH = 140
# Properties whose sizes are tokens. Margins and positions may also be layout of one place.
SIZES = re.compile(r"font|font-size|padding(-\w+)*|border-radius|gap|row-gap|column-gap")
LENGTH = re.compile(r"(?<![\w.-])\d*\.?\d*[1-9]\d*(?:px|rem|em|pt)\b")
COLOUR = re.compile(
    r"#[0-9a-f]{3,8}\b|\b(?:rgba?|hsla?|hwb|oklch|oklab|lab|lch)\(|\b(?:white|black|red|green|blue|gr[ae]y)\b", re.I
)
COMMENT = re.compile(r"/\*.*?\*/", re.S)
CLASS_ATTRIBUTE = re.compile(r'\bclass="((?:\{\{.*?\}\}|\{%.*?%\}|[^"])*)"', re.S)
JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.S)
STRING = re.compile(r'"[^"\n]*"|`[^`]*`')
IMPORT = re.compile(r'^import\s+(?:\{([^}]*)\}\s+from\s+)?"\./([\w.-]+)";', re.M)
EXPORT = re.compile(r"^export\s+(?:async\s+)?(?:function|class|const|let)\s+(\w+|\{[^}]*\})", re.M)


@dataclass(frozen=True)
class Problem:
    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


def problems(web: Path = WEB) -> list[Problem]:
    static, pages = web / "static", web / "templates"
    styles = {path.name: path.read_text() for path in sorted(static.glob("*.css"))}
    modules = {path.name: path.read_text() for path in sorted(static.glob("*.js"))}
    markup = {str(path.relative_to(pages)): path.read_text() for path in sorted(pages.rglob("*.j2"))}
    found = [problem for name, text in styles.items() for problem in style_problems(name, text)]
    found += [problem for name, text in (styles | markup | modules).items() for problem in long_lines(name, text)]
    found += template_problems(markup)
    found += class_problems(markup, styles, modules)
    found += import_problems(modules)
    return found


def style_problems(name: str, text: str) -> Iterator[Problem]:
    """Unbalanced braces, and values outside of `:root` that should be tokens."""
    plain = COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    if plain.count("{") != plain.count("}"):
        yield Problem(name, 1, f"{plain.count('{')} opening braces, {plain.count('}')} closing ones")
        return
    for rule in re.finditer(r"([^{};]*)\{([^{}]*)\}", plain):
        if rule[1].strip() == ":root":
            continue
        for declaration in re.finditer(r"([\w-]+)\s*:\s*([^;]+)", rule[2]):
            line = plain.count("\n", 0, rule.start(2) + declaration.start()) + 1
            prop, value = declaration[1], declaration[2].strip()
            if SIZES.fullmatch(prop) and (length := LENGTH.search(value)):
                yield Problem(name, line, f"{prop}: {length[0]} is not a token")
            if colour := COLOUR.search(value):
                yield Problem(name, line, f"{prop}: {colour[0].rstrip('(')} is not a token")


def long_lines(name: str, text: str) -> Iterator[Problem]:
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > MAX_LINE_LENGTH:
            yield Problem(name, number, f"the line has {len(line)} characters; the limit is {MAX_LINE_LENGTH}")


def template_problems(markup: dict[str, str]) -> Iterator[Problem]:
    for name, text in markup.items():
        try:
            templates().parse(text, name)
        except TemplateSyntaxError as error:
            yield Problem(name, error.lineno, error.message or "syntax error")


def class_problems(markup: dict[str, str], styles: dict[str, str], modules: dict[str, str]) -> Iterator[Problem]:
    """Classes of templates that neither CSS nor JavaScript knows."""
    known = {name for text in styles.values() for name in _selected(text)}
    known |= {name for text in modules.values() for string in STRING.findall(text) for name in _words(string)}
    for file, text in markup.items():
        for attribute in CLASS_ATTRIBUTE.finditer(text):
            for name in _classes(attribute[1]):
                # "tone-{{ status }}" leaves a prefix
                is_known = any(one.startswith(name) for one in known) if name.endswith("-") else name in known
                if not is_known:
                    line = text.count("\n", 0, attribute.start()) + 1
                    yield Problem(file, line, f"no rule or script uses the class {name!r}")


def _selected(text: str) -> set[str]:
    heads = re.findall(r"([^{};]*)\{", COMMENT.sub("", text))
    return {name for head in heads for name in re.findall(r"\.([A-Za-z][\w-]*)", head)}


def _words(text: str) -> list[str]:
    return re.findall(r"[A-Za-z][\w-]*", text)


def _classes(attribute: str) -> list[str]:
    """Names in a class attribute: the words outside of Jinja, and the quoted results of its conditions."""
    names = _words(JINJA.sub(lambda match: "" if match[0].startswith("{{") else " ", attribute))
    for expression in re.findall(r"\{\{(.*?)\}\}", attribute, re.S):
        # `x if y == 'z'`: the condition's strings are not classes
        results = re.sub(r"\bif\b.*?(?:\belse\b|$)", " ", expression)
        names += [name for string in re.findall(r"'([^']*)'", results) for name in _words(string)]
    return names


def import_problems(modules: dict[str, str]) -> Iterator[Problem]:
    """Imports of what a module does not export, and cycles."""
    graph: dict[str, list[str]] = {name: [] for name in modules}
    exported = {name: {one for part in EXPORT.findall(text) for one in _words(part)} for name, text in modules.items()}
    for name, text in modules.items():
        for found in IMPORT.finditer(text):
            target = found[2]
            line = text.count("\n", 0, found.start()) + 1
            if target not in modules:
                yield Problem(name, line, f"there is no module {target}")
                continue
            graph[name].append(target)
            for one in (found[1] or "").split(","):
                imported = one.split(" as ")[0].strip()
                if imported and imported not in exported[target]:
                    yield Problem(name, line, f"{target} does not export {imported}")
    for cycle in _cycles(graph):
        yield Problem(cycle[0], 1, f"import cycle: {' → '.join([*cycle, cycle[0]])}")


def _cycles(graph: dict[str, list[str]]) -> list[tuple[str, ...]]:
    """Each cycle once, beginning with its first name in the alphabet."""
    cycles: set[tuple[str, ...]] = set()

    def walk(path: list[str]) -> None:
        for target in graph[path[-1]]:
            if target in path:
                loop = path[path.index(target) :]
                start = loop.index(min(loop))
                cycles.add((*loop[start:], *loop[:start]))
            else:
                walk([*path, target])

    for name in graph:
        walk([name])
    return sorted(cycles)


def syntax_problems(static: Path = WEB / "static") -> Iterator[Problem]:
    """What node says about each module; nothing where node is missing."""
    node = shutil.which("node")
    if not node:
        return
    for path in sorted(static.glob("*.js")):
        with path.open("rb") as source:
            checked = subprocess.run(
                [node, "--input-type=module", "--check"], stdin=source, capture_output=True, text=True, timeout=60
            )
        if checked.returncode:
            line = re.match(r"\[stdin\]:(\d+)", checked.stderr)
            message = next((line for line in checked.stderr.splitlines() if "Error:" in line), "syntax error")
            yield Problem(path.name, int(line[1]) if line else 1, message)


def main() -> int:
    found = [*problems(), *syntax_problems()]
    print("\n".join(map(str, found)) or "CSS, templates and JavaScript: no problems.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
