"""The parts of a repository with several projects: the files and projects that the checks of each depend on. Pure."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from burnish.checks.java_tools import module_folders, read_pom
from burnish.checks.tools import Read, ToolChoice, Tools

# Longer lists are hard to read; the checks of such a part run for every change.
MAX_PATTERNS = 12
# Folders that no test runs.
_NOT_TESTED = frozenset((".github", ".gitlab", ".circleci", ".vscode", ".idea", ".devcontainer", "docs", "doc"))
# Files that name other parts of the same repository.
_MANIFEST = re.compile(
    r"pyproject\.toml|setup\.(?:py|cfg)|requirements[\w.-]*\.txt|tox\.ini|noxfile\.py|pytest\.ini|conftest\.py"
    r"|package\.json|[tj]sconfig[\w.-]*\.json|(?:jest|vitest|vite|webpack)\.config\.\w+|go\.mod|Cargo\.toml|pom\.xml"
    r"|(?:build|settings)\.gradle(?:\.kts)?|Gemfile|Rakefile|Makefile"
)
# Files at the root that name folders for imports, and an entry of one.
_ALIASES = re.compile(r"tsconfig[\w.-]*\.json|babel\.config\.\w+|\.babelrc")
_ALIAS = re.compile(r"""["']([^"'\s]+)["']\s*:\s*\[?\s*["'](?:\./|<rootDir>/)?([\w@./*-]+)["']""")
_RELATIVE = re.compile(r"\.\./[\w./@-]*")
# `".."` and `cd ..`, but not `...` and `1..9`
_CLIMBS = re.compile(r"(?<![\w.])(?<!\.\./)\.\.(?:/\.\.)*/?(?![\w./])")
# `parents[2]`, `.parent.parent`, `dirname(dirname(…))`, `git rev-parse --show-toplevel`
_PARENT = r"(?:[dD]ir|dirname|[pP]arent(?:File|Path)?)\("
_COMPUTED_CLIMBS = re.compile(
    rf"\bparents\[|\.parent\.parent\b|{_PARENT}.{{0,200}}{_PARENT}|\bpardir\b|--show-toplevel"
)
# Here, words without quotes name folders, too: `cd .. && pytest api`.
_SHELL_LINES = re.compile(r".*\.(?:sh|bash|bats|mk|json|ya?ml)|[^.]+")
# how a project calls itself: go.mod; package.json; pyproject.toml and Cargo.toml
_OWN_NAME = re.compile(r'^module\s+(\S+)|(?:^|[{,])\s*"name"\s*:\s*"([^"]+)"|^name\s*=\s*["\']([^"\']+)["\']', re.M)


def with_paths(
    found: Sequence[Tools], paths: Sequence[str], read: Read, link_target: Callable[[str], str | None]
) -> list[Tools]:
    """Each part with path patterns: its own folder, the parts that it names, and files that belong to no part.

    The project at the root, and a project that is the only one, depend on everything.
    """
    folders = sorted({tools.folder for tools in found})
    parts = [folder for folder in folders if folder]
    if len(folders) < 2:
        return list(found)
    texts = {part: _manifests(part, paths, read) for part in parts}
    shared_patterns = _outside(parts, paths, _NOT_TESTED - _used_documents(texts, paths, read))
    aliases = _aliases(parts, paths, read)
    links = _linked_parts(parts, paths, link_target)
    uses = {part: _direct_uses(part, texts, aliases, paths, read) for part in parts}
    uses = {part: None if names is None else sorted({*names, *links[part]} - {part}) for part, names in uses.items()}
    result = []
    for tools in found:
        other_parts = _used_parts(tools.folder, uses) if tools.folder else None
        own = [tools.folder, *other_parts] if other_parts is not None else []
        patterns = [*(f"{folder}/**" for folder in own), *shared_patterns]
        usable = own and len(patterns) <= MAX_PATTERNS
        result.append(replace(tools, paths=tuple(patterns)) if usable else tools)
    return result


def _used_documents(texts: dict[str, dict[str, str]], paths: Sequence[str], read: Read) -> set[str]:
    """Folders of documents that a part reads (`docs/openapi.json` of an API); all if a part is too large to read."""
    folders = {path.partition("/")[0] for path in paths if "/" in path} & {"docs", "doc"}
    used_folders: set[str] = set()
    for part in texts if folders else ():
        sources = read_sources(part, paths, read)
        files = {**texts[part], **(sources or {})}
        if sources is None:
            return folders
        if any(_leaves(part, path, text) or "../" in text for path, text in files.items()):
            names = {one for one in folders if any(_names_folder(one, path, text) for path, text in files.items())}
            used_folders |= names
    return used_folders


def _outside(parts: Sequence[str], paths: Iterable[str], not_tested: Collection[str]) -> list[str]:
    """Patterns of the files that are in no part: files at the root, and folders without a part."""
    above = {parent for part in parts for parent in _parents(part)}
    found = {"/*"}
    for path in paths:
        if any(path.startswith(f"{part}/") for part in parts):
            continue
        # The topmost folder without a part, or the file's own folder if that contains parts.
        folders = list(_parents(path))[::-1]
        alone = next((folder for folder in folders if folder not in above and folder not in parts), None)
        if alone is None:
            found.add(f"{folders[-1]}/*" if folders else "/*")
        elif alone.partition("/")[0] not in not_tested:
            found.add(f"{alone}/**")
    return sorted(found)


def _parents(path: str) -> Iterable[str]:
    """The folders of a path, the nearest first."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _manifests(part: str, paths: Iterable[str], read: Read) -> dict[str, str]:
    inside = (path for path in paths if path.rpartition("/")[0] == part)
    return {path: read(path) or "" for path in inside if _MANIFEST.fullmatch(path.rpartition("/")[2])}


def _aliases(parts: Sequence[str], paths: Iterable[str], read: Read) -> dict[str, set[str]]:
    """Names that files at the root give to folders of parts: `"@acme/core": ["libs/core/src"]` in a tsconfig.json."""
    names = [path for path in paths if "/" not in path and (_MANIFEST.fullmatch(path) or _ALIASES.fullmatch(path))]
    found: dict[str, set[str]] = {part: set() for part in parts}
    for match in (match for name in names for match in _ALIAS.finditer(read(name) or "")):
        target = posixpath.normpath(match[2])
        for part in parts:
            if target == part or target.startswith(f"{part}/"):
                found[part].add(match[1].removeprefix("^").removesuffix("$").partition("/*")[0].partition("/(")[0])
    return found


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _linked_parts(
    parts: Sequence[str], paths: Sequence[str], link_target: Callable[[str], str | None]
) -> dict[str, set[str]]:
    """The parts that links in a part lead to. Links outside of all parts count for each part."""
    found: dict[str, set[str]] = {part: set() for part in parts}
    for path in paths:
        if target := link_target(path):
            place = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
            # A link to a folder above leads to each part below it.
            targets = {part for part in parts if _is_within(place, part) or _is_within(part, place)}
            owners = [part for part in parts if path.startswith(f"{part}/")] or parts
            for owner in owners:
                found[owner] |= targets
    return found


def _direct_uses(
    part: str, texts: dict[str, dict[str, str]], aliases: dict[str, set[str]], paths: Sequence[str], read: Read
) -> list[str] | None:
    """Other parts that the project files or sources of this one name; None if it has too many sources to read."""
    sources = read_sources(part, paths, read)
    if sources is None:
        return None
    others = [other for other in texts if other != part]
    names = {other: aliases[other] | _own_names(texts[other]) for other in others}
    own_files = {**texts[part], **sources}
    leaves = any(_leaves(part, path, text) for path, text in own_files.items())
    return [
        other
        for other in others
        if _uses(part, other, texts)
        or sources_use(part, other, sources, paths, names[other])
        or (leaves and any(_names_folder(other, path, text) for path, text in own_files.items()))
    ]


def _leaves(part: str, path: str, text: str) -> bool:
    """True if a file computes the path of a folder above its part: `const root = path.resolve(__dirname, "..")`."""
    if _COMPUTED_CLIMBS.search(text):
        return True
    # Tests read files relative to the working directory; imports are relative to the file.
    bases = (posixpath.dirname(path), part)
    climbs = {match[0] for match in _CLIMBS.finditer(_JOINED.sub("/", text))}
    targets = {posixpath.normpath(f"{base}/{climb}") for climb in climbs for base in bases}
    return any(target == "." or part.startswith(f"{target}/") for target in targets)


def _names_folder(other: str, path: str, text: str) -> bool:
    """True if a file has the folder of another part as a string of its own or as a part of a path."""
    start = r"[\s\"'`/=]" if _SHELL_LINES.fullmatch(posixpath.basename(path)) else r"[\"'`/]"
    return re.search(rf"{start}{re.escape(posixpath.basename(other))}(?=[\s\"'`/;)]|$)", text) is not None


def _used_parts(part: str, uses: Mapping[str, list[str] | None]) -> list[str] | None:
    """Other parts that this one uses, directly or through others; None if that is not known."""
    used_parts: set[str] = set()
    pending = [part]
    while pending:
        found = uses[pending.pop()]
        if found is None:
            return None
        pending += [other for other in found if other not in used_parts and other != part]
        used_parts |= set(found) - {part}
    return sorted(used_parts)


def _names(path: str, text: str) -> list[str]:
    """The project's name in a manifest. Other names do no harm: they only make checks run more often."""
    if path.endswith("pom.xml"):
        return re.findall(r"<artifactId>\s*([\w.-]+)", re.sub(r"<parent>.*?</parent>", "", text, flags=re.S))[:1]
    return [name for match in _OWN_NAME.finditer(text) for name in match.groups() if name]


def _uses(part: str, other: str, texts: dict[str, dict[str, str]]) -> bool:
    if part.startswith(f"{other}/"):
        return True
    text = "\n".join(texts[part].values())
    targets = {posixpath.normpath(f"{part}/{match[0]}") for match in _RELATIVE.finditer(text)}
    if any(target == other or target.startswith(f"{other}/") for target in targets):
        return True
    names = _own_names(texts[other])
    return any(re.search(rf"(?<![\w/.-]){re.escape(name)}(?![\w-])", text) for name in names)


def _own_names(manifests: Mapping[str, str]) -> set[str]:
    return {name for path, text in manifests.items() for name in _names(path, text)}


# -- part sources ---------------------------------------------------------------------------------
# Finds which other parts of the repository the sources of a part use. Pure.
#
# Project files do not tell everything: a `conftest.py` puts `../lib` on the path, a module imports
# `../../shared/rates`. A false positive only makes a check run more often, so doubtful cases count as used.

# A part with more files is not read; its checks then run for every change.
MAX_SOURCES = 1000
_SOURCE = re.compile(
    r".*\.(?:pyi?|[cm]?[jt]sx?|vue|svelte|rb|php|sh|bash|bats|mk|go|rs|java|kts?|scala|groovy|c|h|cc|cpp|hpp|ya?ml)"
)
# `join("..", "lib")` and `parent / "lib"` name the same folder as "../lib"
_JOINED = re.compile(r"""["']\s*,\s*["']""")
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import(?:[ \t]+\(?([\w., \t]+))?|import[ \t]+([\w., \t]+))", re.M
)
_IMPORTED_BY_NAME = re.compile(r"""\b(?:import_module|importorskip|__import__)\(\s*["']([\w.]+)""")
_SOURCE_FOLDERS = ("src/", "lib/", "")
_NO_MODULES = re.compile(
    r"(?:test_.*|.*_test|tests?|testing|conftest|setup|noxfile|tasks|manage|docs?|examples?|__init__)"
)


def read_sources(part: str, paths: Sequence[str], read: Read) -> dict[str, str] | None:
    """The sources of a part by path; None if there are too many."""
    inside = [path for path in paths if path.startswith(f"{part}/") and _SOURCE.fullmatch(path)]
    return {path: read(path) or "" for path in inside} if len(inside) <= MAX_SOURCES else None


def find_modules(part: str, paths: Sequence[str]) -> set[str]:
    """The top-level Python modules and packages of a part; of a namespace package those in it, as `acme.core`."""
    start = f"{part}/"
    inside = {path.removeprefix(start) for path in paths if path.startswith(start) and path.endswith(".py")}
    found = set()
    for path in inside:
        for folder in _SOURCE_FOLDERS:
            if path.startswith(folder):
                found.add(_module(path.removeprefix(folder), folder, inside))
    return {name for name in found if not _NO_MODULES.fullmatch(name.partition(".")[0])}


def _module(path: str, folder: str, inside: Collection[str]) -> str:
    top, _, rest = path.partition("/")
    if not rest or f"{folder}{top}/__init__.py" in inside:
        return top.removesuffix(".py")
    return f"{top}.{rest.partition('/')[0].removesuffix('.py')}"


def sources_use(
    part: str, other: str, sources: dict[str, str], paths: Sequence[str], names: Iterable[str] = ()
) -> bool:
    """True if a source names the other part. `names`: its names in imports (Go module, npm package, alias)."""
    modules = find_modules(other, paths) - find_modules(part, paths)
    name_pattern = re.compile("|".join(rf"""["'`]{re.escape(name)}["'`/]""" for name in names if name) or "(?!)")
    if any(name_pattern.search(text) for text in sources.values()):
        return True
    return any(_file_uses(path, text, part, other, modules) for path, text in sources.items())


def _file_uses(path: str, text: str, part: str, other: str, modules: set[str]) -> bool:
    joined_text = _JOINED.sub("/", text)
    # Tests read files relative to the working directory; imports are relative to the file.
    bases = (posixpath.dirname(path), part)
    targets = {posixpath.normpath(f"{base}/{match[0]}") for match in _RELATIVE.finditer(joined_text) for base in bases}
    if any(target == other or target.startswith(f"{other}/") for target in targets):
        return True
    if not path.endswith((".py", ".pyi")):
        return False
    if re.search(rf"""/\s*["'](?:[\w.-]+/)*{re.escape(posixpath.basename(other))}["'/]""", text):
        return True
    return any(_is_of(name, other, modules) for name in _imported_names(text))


def _imported_names(text: str) -> set[str]:
    found = set()
    for match in _IMPORT.finditer(text):
        names = {name.split()[0] for name in (match[3] or match[2] or "").split(",") if name.strip()}
        found |= {match[1], *(f"{match[1]}.{name}" for name in names)} if match[1] else names
    return found | set(_IMPORTED_BY_NAME.findall(text))


def _is_of(name: str, other: str, modules: set[str]) -> bool:
    dotted_path = other.replace("/", ".")
    return any(name == module or name.startswith(f"{module}.") for module in (dotted_path, *modules))


# -- Maven projects -------------------------------------------------------------------------------
# A Maven project takes projects that are not its modules from the local repository, where the user's checkout may
# have installed them. So the test command of a project installs those that it uses from the tree.

_PARENT_ELEMENT = re.compile(r"<parent>((?:(?!<parent>).)*?)</parent>", re.S)
_USED = re.compile(r"<(dependency|plugin|extension|parent)>((?:(?!<\1>).)*?)</\1>", re.S)
_NAME_FIELDS = re.compile(r"<(groupId|artifactId)>\s*([^<]+?)\s*</\1>")
# The project's own name is not in these.
_NESTED = re.compile(r"<(dependencies|dependencyManagement|build|profiles|modules|reporting)>.*</\1>", re.S)


def is_part_of_build(folder: str, root: str, paths: Sequence[str], read: Read) -> bool:
    """True if the build of `root`, a folder above, tests this Java project, or if it has no tests."""
    if not _has_java_tests(folder, paths):
        return True
    if f"{folder}/pom.xml" in set(paths):
        return folder in module_folders(root, read)
    settings = {f"{folder}/settings.gradle", f"{folder}/settings.gradle.kts"}
    return folder.endswith("buildSrc") or settings.isdisjoint(paths)


def _has_java_tests(folder: str, paths: Iterable[str]) -> bool:
    return any(path.startswith(f"{folder}/" if folder else "") and "/src/test/" in f"/{path}" for path in paths)


def with_installed_projects(found: Sequence[Tools], paths: Sequence[str], read: Read) -> list[Tools]:
    """The tools with commands that install the other Maven projects of the repository that a project uses.

    A project without tests that is installed for another one gets no command of its own.
    """
    folders = [tools.folder for tools in found if tools.language == "Java" and read_pom(tools.folder, read)]
    poms = {
        folder: [read_pom(one, read) for one in sorted({folder, *module_folders(folder, read)})] for folder in folders
    }
    names = {folder: {_own_name(pom) for pom in poms[folder]} for folder in folders}
    uses = {
        folder: [one for one in folders if one != folder and _is_used(names[one], poms[folder])] for folder in folders
    }
    used_folders = {project for folder in folders for project in _in_order(folder, uses)}
    result = []
    for tools in found:
        if tools.language != "Java" or tools.test is None:
            result.append(tools)
        elif tools.folder not in used_folders or _has_java_tests(tools.folder, paths):
            result.append(replace(tools, test=_with_installs(tools.folder, tools.test, _in_order(tools.folder, uses))))
    return result


def _with_installs(folder: str, test: ToolChoice, projects: Sequence[str]) -> ToolChoice:
    if not projects:
        return test
    program = str(test.command).partition(" ")[0]
    poms = [posixpath.relpath(posixpath.join(project, "pom.xml"), folder or ".") for project in projects]
    installs = [f"{program} -q -B -f {shlex.quote(pom)} install -DskipTests" for pom in poms]
    command = " && ".join((*installs, str(test.command)))
    return ToolChoice(command, f"{test.why}; it uses {', '.join(project or 'the root' for project in projects)}")


def _own_name(pom: str) -> tuple[str, str]:
    """Group and artifact of a project; the group may be that of its parent."""
    parent = _PARENT_ELEMENT.search(pom)
    parent_fields: dict[str, str] = dict(_NAME_FIELDS.findall(parent[1])) if parent else {}
    fields = _NAME_FIELDS.findall(_NESTED.sub("", pom.replace(parent[0], "") if parent else pom))
    own: dict[str, str] = dict(reversed(fields))
    return own.get("groupId", parent_fields.get("groupId", "")), own.get("artifactId", "")


def _is_used(names: set[tuple[str, str]], poms: Iterable[str]) -> bool:
    for pom in poms:
        own_group, _ = _own_name(pom)
        for kind, text in _USED.findall(pom):
            if kind == "parent" and not re.search(r"<relativePath\s*/>", text):
                continue  # found by its path
            fields: dict[str, str] = dict(reversed(_NAME_FIELDS.findall(text)))
            group = fields.get("groupId", "")
            if (own_group if group.startswith("${") else group, fields.get("artifactId", "")) in names:
                return True
    return False


def _in_order(folder: str, uses: Mapping[str, Sequence[str]]) -> list[str]:
    """The projects that this one uses, directly or not, each after those that it uses itself."""
    found: list[str] = []
    folders_found = {folder}

    def visit(project: str) -> None:
        for other in uses[project]:
            if other not in folders_found:
                folders_found.add(other)
                visit(other)
                found.append(other)

    if folder in uses:
        visit(folder)
    return found
