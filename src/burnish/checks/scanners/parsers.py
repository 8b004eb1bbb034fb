"""Syntax alone: tree-sitter's grammars, and the parsers of the languages where they are installed (node, shell, gofmt).

None of them loads code or settings of the repository.
"""

from __future__ import annotations

import json
import re
import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from burnish.checks.scanners import tree_sitter_main
from burnish.checks.scanners.base import ScanContext, ScanResult, call, find_program, last_line, line_number, read_json
from burnish.core.finding import Category, Remark, Severity

SYNTAX = "syntax-error"
LARGEST = tree_sitter_main.LARGEST
# `node --check` takes 80 ms of CPU for each file; the grammar alone judges the rest of those that do not compile
MOST_FOR_NODE = 12
# Compiles each file in one process, without running it, and prints the numbers of those that cannot be compiled.
_COMPILE_EACH = """
const fs = require("fs"), vm = require("vm"), failed = [];
const names = ["exports", "require", "module", "__filename", "__dirname"];
process.argv.slice(1).forEach((file, number) => {
  try {
    const code = fs.readFileSync(file, "utf8").replace(/^\\uFEFF/, "").replace(/^#!/, "//");
    if (file.endsWith(".mjs")) new vm.SourceTextModule(code); else vm.compileFunction(code, names);
  } catch { failed.push(number); }
});
console.log(JSON.stringify(failed));
"""
MOST_FILES = 300
_TREE = tuple(tree_sitter_main.GRAMMARS)
_NODE = (".js", ".mjs", ".cjs")
_SHELL = (".sh", ".bash")
_SHEBANG = re.compile(rb"#![ \t]*(?:\S*/)?(?:env[ \t]+(?:-S[ \t]+)?(?:\S*/)?)?(\w+)")
# Data for tests of parsers and formatters, and code of others.
_NOT_JUDGED = re.compile(
    r"(?:^|/)(?:__)?(?:fixtures?|testdata|test[-_]data|snapshots?|corpus|conformance|jsfmt|vendor|third[-_]party|node_modules)"
    r"(?:__)?/|(?:bad|invalid|broken|malformed|syntax[-_]?error)[^/]*$|\.min\.|[{}]",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(rb"\{%|<%|\{\{[-~#/>]?\s*[\w.]+[^{}\n]*\}\}|@@\w+@@")
_MODULE = re.compile(rb"^[ \t]*(?:import\b(?![ \t]*\()|export\b)", re.MULTILINE)
_FLOW = re.compile(rb"@flow\b")
# What node knows and the grammar does not. Else both must agree: an old node refuses new syntax, JSX and decorators.
_ONLY_NODE = re.compile(
    r"has already been declared|Missing initializer|Illegal (?:break|continue|return)|left-hand side"
    r"|Undefined label|Duplicate parameter|Unexpected end of input"
)


@dataclass(frozen=True, slots=True)
class SyntaxProblem:
    line: int
    words: str
    parser: str


# path → what a parser says of it; None: it is well-formed. A path that is missing was not judged.
Answers = dict[str, SyntaxProblem | None]


@dataclass(frozen=True, slots=True)
class SyntaxScanner:
    name: str = "syntax"
    executes: str = ""

    def wants(self, path: str) -> bool:
        if _NOT_JUDGED.search(path):
            return False
        return path.endswith((*_TREE, *_SHELL)) or not PurePosixPath(path).suffix

    def scan(self, ground: ScanContext, paths: tuple[str, ...]) -> ScanResult:
        codes = {path: code for path in paths if (code := _read(ground.files / path)) is not None}
        by_grammar, notes = _by_grammar(ground, [path for path in codes if path.endswith(_TREE)])
        by_tool = {
            **_by_node(ground, _node_order(codes, by_grammar)),
            **_by_gofmt(ground, [path for path in codes if path.endswith(".go")]),
            **_by_shell(ground, codes),
        }
        problems = ((path, _agreed(by_grammar.get(path), by_tool, path)) for path in codes)
        remarks = [
            _remark(path, found) for path, found in problems if found and not _is_template(ground, path, codes[path])
        ]
        return ScanResult(tuple(remarks), tuple(notes))


def _agreed(grammar: SyntaxProblem | None, by_tool: Answers, path: str) -> SyntaxProblem | None:
    """The language's own parser decides where there is one."""
    if path not in by_tool:
        return grammar
    tool = by_tool[path]
    if tool is None or not path.endswith(_NODE):
        return tool
    return tool if grammar or _ONLY_NODE.search(tool.words) else None


def _read(path: Path) -> bytes | None:
    try:
        code = path.read_bytes() if path.stat().st_size <= LARGEST else None
    except OSError:
        return None
    if code is None or b"\0" in code or _FLOW.search(code[:2000]):
        return None
    return code if path.suffix or _SHEBANG.match(code) else None


def _is_template(ground: ScanContext, path: str, code: bytes) -> bool:
    """A new file with marks to be filled in; one that could be parsed before is not a template."""
    return bool(_TEMPLATE.search(code)) and ground.base_text(path) is None


def _remark(path: str, found: SyntaxProblem) -> Remark:
    return Remark(
        Category.CODE,
        Severity.ERROR,
        f"Syntax error: {found.words}"[:200],
        f"{found.parser} cannot parse this file: nothing in it can run.",
        file=path,
        line=found.line,
        end_line=found.line,
        rule=SYNTAX,
        source="static",
    )


def _by_grammar(ground: ScanContext, paths: list[str]) -> tuple[Answers, list[str]]:
    if not paths:
        return {}, []
    some = paths[:MOST_FILES]
    notes = [f"syntax: only the first {MOST_FILES} files were parsed"] if len(paths) > MOST_FILES else []
    ground.out_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    request = ground.out_dir / "tree-sitter.json"
    request.write_text(json.dumps({"folder": str(ground.files), "paths": some}), "utf-8")
    # -I: neither the current folder nor the environment adds modules
    argv = (sys.executable, "-I", str(Path(tree_sitter_main.__file__)))
    printed = call(ground, "tree-sitter", argv, stdin=request)
    found = read_json(printed.stdout)
    if printed.trouble or not isinstance(found, dict):
        return {}, [*notes, f"syntax: tree-sitter did not run: {printed.trouble or last_line(printed.stderr)}"]
    answers: Answers = dict.fromkeys(some)
    for path, (line, words) in found.items():
        answers[path] = SyntaxProblem(line, str(words), "tree-sitter")
    return answers, notes


def _node_order(codes: dict[str, bytes], by_grammar: Answers) -> dict[str, bytes]:
    """Those that the grammar doubts first: node has the last word on them."""
    paths = sorted((path for path in codes if path.endswith(_NODE)), key=lambda path: by_grammar.get(path) is None)
    return {path: codes[path] for path in paths[:MOST_FILES]}


def _by_node(ground: ScanContext, codes: dict[str, bytes]) -> Answers:
    """Copies with an ending that says how to read them: `--check` passes a module in a .js file without a look."""
    folder = ground.out_dir / "javascript"
    folder.mkdir(parents=True, exist_ok=True)
    copies: dict[str, str] = {}
    for number, (path, code) in enumerate(codes.items()):
        name = f"{number}{'.mjs' if _MODULE.search(code) else '.cjs'}"
        (folder / name).write_bytes(code)
        copies[path] = str(folder / name)
    compiled = _compiled_by_node(ground, copies)
    doubted = {path: copy for path, copy in copies.items() if path not in compiled}
    outputs = _each_file(ground, "node", ("--check",), dict(list(doubted.items())[:MOST_FOR_NODE]))
    words, place = re.compile(r"^SyntaxError: (.+)$", re.MULTILINE), re.compile(r"^/.*?:(\d+)$", re.MULTILINE)
    return dict.fromkeys(compiled) | _answers(outputs, place, words, "node")


def _compiled_by_node(ground: ScanContext, copies: dict[str, str]) -> list[str]:
    """The files that one process of node compiles; none where node is missing or too old to do so."""
    program = find_program(ground, "node")
    if program is None or not copies:
        return []
    argv = (program, "--no-warnings", "--experimental-vm-modules", "-e", _COMPILE_EACH, *copies.values())
    printed = call(ground, "node-compile", argv)
    failed = read_json(printed.stdout)
    if printed.trouble or not isinstance(failed, list):
        return []
    return [path for number, path in enumerate(copies) if number not in failed]


def _by_shell(ground: ScanContext, codes: dict[str, bytes]) -> Answers:
    scripts = {path: shell for path, code in codes.items() if (shell := _shell_of(path, code))}
    place, words = re.compile(r": line (\d+): |: (\d+): "), re.compile(r": (?:line )?\d+: (.+)")
    # extglob: `-n` runs no `shopt`, so that its patterns would be errors
    bash = _each_file(ground, "bash", ("-O", "extglob", "-n"), {path: str(ground.files / path) for path in scripts})
    if bash:
        return _answers(bash, place, words, "bash")
    posix = {path: str(ground.files / path) for path, shell in scripts.items() if shell == "sh"}
    return _answers(_each_file(ground, "sh", ("-n",), posix), place, words, "sh")


def _shell_of(path: str, code: bytes) -> str:
    shebang = _SHEBANG.match(code)
    if shebang is None:
        return "bash" if path.endswith(_SHELL) else ""
    name = shebang[1].decode()
    return name if name in ("sh", "bash", "dash") else ""


def _by_gofmt(ground: ScanContext, paths: list[str]) -> Answers:
    program = find_program(ground, "gofmt")
    if program is None or not paths:
        return {}
    some = paths[:MOST_FILES]
    printed = call(ground, "gofmt", (program, "-e", "-l", *(str(ground.files / path) for path in some)))
    if printed.trouble:
        return {}
    answers: Answers = dict.fromkeys(some)
    place = re.escape(f"{ground.files}/")
    for found in re.finditer(rf"^{place}(.+?\.go):(\d+):\d+: (.+)$", printed.stderr, re.MULTILINE):
        if found[1] in answers and answers[found[1]] is None:
            answers[found[1]] = SyntaxProblem(int(found[2]), found[3].strip(), "gofmt")
    return answers


def _each_file(
    ground: ScanContext, name: str, options: Sequence[str], files: dict[str, str]
) -> dict[str, tuple[int, str]]:
    """Exit code and output of one program for each file, all started by one shell: a sandbox for each costs more."""
    program, shell = find_program(ground, name), find_program(ground, "sh")
    if program is None or shell is None or not files:
        return {}
    mark = secrets.token_hex(8)
    loop = 'for file do "$0" $OPTIONS "$file" 2>&1; code=$?; echo; echo "$MARK $code"; done'
    # the file is given by name only: no word of a change reaches the shell's own text
    env = {"MARK": mark, "OPTIONS": " ".join(options)}
    some = dict(list(files.items())[:MOST_FILES])
    printed = call(ground, name, (shell, "-c", loop, program, *some.values()), env=env)
    parts = re.split(rf"^{mark} (\d+)\n", printed.stdout, flags=re.MULTILINE)
    if printed.trouble or len(parts) != 2 * len(some) + 1:
        return {}
    results = zip(parts[0::2], parts[1::2], strict=False)
    return {path: (int(code), output) for path, (output, code) in zip(some, results, strict=False)}


def _answers(
    outputs: dict[str, tuple[int, str]], place: re.Pattern[str], words: re.Pattern[str], parser: str
) -> Answers:
    answers: Answers = {}
    for path, (code, output) in outputs.items():
        where, what = place.search(output), words.search(output)
        line = line_number(int(next(filter(None, where.groups())))) if where else None
        if code == 0:
            answers[path] = None
        elif line is not None and what is not None:
            answers[path] = SyntaxProblem(line, what[1].strip(), parser)
    return answers
