"""Checks syntax with tree-sitter's grammars and with installed parsers of the languages (node, shell, gofmt).

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
MAX_BYTES = tree_sitter_main.MAX_BYTES
# `node --check` takes 80 ms of CPU per file; further files that do not compile are checked by the grammar only.
MAX_FOR_NODE = 12
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
MAX_FILES = 300
# processor time of node, gofmt and of a shell for each file
CPU_SECONDS = 5
_TREE = tuple(tree_sitter_main.GRAMMARS)
_NODE = (".js", ".mjs", ".cjs")
_SHELL = (".sh", ".bash")
_SHEBANG = re.compile(rb"#![ \t]*(?:\S*/)?(?:env[ \t]+(?:-S[ \t]+)?(?:\S*/)?)?(\w+)")
# Test data of parsers and formatters, and third-party code.
_NOT_JUDGED = re.compile(
    r"(?:^|/)(?:__)?(?:fixtures?|testdata|test[-_]data|snapshots?|corpus|conformance|jsfmt|vendor|third[-_]party|node_modules)"
    r"(?:__)?/|(?:bad|invalid|broken|malformed|syntax[-_]?error)[^/]*$|\.min\.|[{}]",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(rb"\{%|<%|\{\{[-~#/>]?\s*[\w.]+[^{}\n]*\}\}|@@\w+@@")
_MODULE = re.compile(rb"^[ \t]*(?:import\b(?![ \t]*\()|export\b)", re.MULTILINE)
_FLOW = re.compile(rb"@flow\b")
# Errors that only node finds. Otherwise both must agree: an old node rejects new syntax, JSX and decorators.
_ONLY_NODE = re.compile(
    r"has already been declared|Missing initializer|Illegal (?:break|continue|return)|left-hand side"
    r"|Undefined label|Duplicate parameter|Unexpected end of input"
)


@dataclass(frozen=True, slots=True)
class SyntaxProblem:
    line: int
    words: str
    parser: str


# path → the parser's problem with it; None if the file is valid. Missing paths were not checked.
Answers = dict[str, SyntaxProblem | None]


@dataclass(frozen=True, slots=True)
class SyntaxScanner:
    name: str = "syntax"
    executes: str = ""

    def wants(self, path: str) -> bool:
        if _NOT_JUDGED.search(path):
            return False
        return path.endswith((*_TREE, *_SHELL)) or not PurePosixPath(path).suffix

    def scan(self, context: ScanContext, paths: tuple[str, ...]) -> ScanResult:
        codes = {path: code for path in paths if (code := _read(context.files / path)) is not None}
        by_grammar, given_up, notes = _by_grammar(context, [path for path in codes if path.endswith(_TREE)])
        by_tool = {
            **_by_node(context, _node_order(codes, by_grammar)),
            **_by_gofmt(context, [path for path in codes if path.endswith(".go")]),
            **_by_shell(context, codes),
        }
        problems = ((path, _agreed(by_grammar.get(path), by_tool, path)) for path in codes)
        remarks = [
            _remark(path, found) for path, found in problems if found and not _is_template(context, path, codes[path])
        ]
        without_answer = {path: reason for path, reason in given_up.items() if path not in by_tool}
        return ScanResult(tuple(remarks), tuple(notes), without_answer)


def _agreed(grammar: SyntaxProblem | None, by_tool: Answers, path: str) -> SyntaxProblem | None:
    """The result of the language's own parser if it is available, else of the grammar."""
    if path not in by_tool:
        return grammar
    tool = by_tool[path]
    if tool is None or not path.endswith(_NODE):
        return tool
    return tool if grammar or _ONLY_NODE.search(tool.words) else None


def _read(path: Path) -> bytes | None:
    try:
        code = path.read_bytes() if path.stat().st_size <= MAX_BYTES else None
    except OSError:
        return None
    if code is None or b"\0" in code or _FLOW.search(code[:2000]):
        return None
    return code if path.suffix or _SHEBANG.match(code) else None


def _is_template(context: ScanContext, path: str, code: bytes) -> bool:
    """True for a new file with template placeholders; an existing file is not a template."""
    return bool(_TEMPLATE.search(code)) and context.base_text(path) is None


def _remark(path: str, found: SyntaxProblem) -> Remark:
    return Remark(
        Category.CODE,
        Severity.ERROR,
        f"Syntax error: {found.words}"[:200],
        f"{found.parser} cannot parse this file, so none of it can run.",
        file=path,
        line=found.line,
        end_line=found.line,
        rule=SYNTAX,
        source="static",
    )


def _by_grammar(context: ScanContext, paths: list[str]) -> tuple[Answers, dict[str, str], list[str]]:
    """The answers, the files that were given up with the reason, and notes."""
    if not paths:
        return {}, {}, []
    parsed_paths = paths[:MAX_FILES]
    notes = [f"syntax: only the first {MAX_FILES} files were parsed"] if len(paths) > MAX_FILES else []
    context.out_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    request = context.out_dir / "tree-sitter.json"
    request.write_text(json.dumps({"folder": str(context.files), "paths": parsed_paths}), "utf-8")
    # -I: the working directory and the environment cannot add modules.
    argv = (sys.executable, "-I", str(Path(tree_sitter_main.__file__)))
    output = call(context, "tree-sitter", argv, stdin=request)
    found = read_json(output.stdout)
    if output.trouble or not isinstance(found, dict):
        given_up = dict.fromkeys(parsed_paths, output.trouble) if output.crashed else {}
        return {}, given_up, [*notes, f"syntax: tree-sitter did not run: {output.trouble or last_line(output.stderr)}"]
    given_up = {path: str(words) for path, (line, words) in found.items() if line == tree_sitter_main.GIVEN_UP}
    answers: Answers = {path: None for path in parsed_paths if path not in given_up}
    for path, (line, words) in found.items():
        if path not in given_up:
            answers[path] = SyntaxProblem(line, str(words), "tree-sitter")
    return answers, given_up, notes


def _node_order(codes: dict[str, bytes], by_grammar: Answers) -> dict[str, bytes]:
    """JavaScript files, those rejected by the grammar first, because node decides on them."""
    paths = sorted((path for path in codes if path.endswith(_NODE)), key=lambda path: by_grammar.get(path) is None)
    return {path: codes[path] for path in paths[:MAX_FILES]}


def _by_node(context: ScanContext, codes: dict[str, bytes]) -> Answers:
    """Checks copies with the extension .mjs or .cjs, because `--check` does not parse modules in .js files."""
    folder = context.out_dir / "javascript"
    folder.mkdir(parents=True, exist_ok=True)
    copies: dict[str, str] = {}
    for number, (path, code) in enumerate(codes.items()):
        name = f"{number}{'.mjs' if _MODULE.search(code) else '.cjs'}"
        (folder / name).write_bytes(code)
        copies[path] = str(folder / name)
    valid_paths = _compiled_by_node(context, copies)
    remaining = {path: copy for path, copy in copies.items() if path not in valid_paths}
    outputs = _each_file(context, "node", ("--check",), dict(list(remaining.items())[:MAX_FOR_NODE]))
    words, place = re.compile(r"^SyntaxError: (.+)$", re.MULTILINE), re.compile(r"^/.*?:(\d+)$", re.MULTILINE)
    return dict.fromkeys(valid_paths) | _answers(outputs, place, words, "node")


def _compiled_by_node(context: ScanContext, copies: dict[str, str]) -> list[str]:
    """The files that node compiles in one process; none if node is missing or too old."""
    program = find_program(context, "node")
    if program is None or not copies:
        return []
    argv = (program, "--no-warnings", "--experimental-vm-modules", "-e", _COMPILE_EACH, *copies.values())
    output = call(context, "node-compile", argv, cpu_seconds=CPU_SECONDS)
    failed_numbers = read_json(output.stdout)
    if output.trouble or not isinstance(failed_numbers, list):
        return []
    return [path for number, path in enumerate(copies) if number not in failed_numbers]


def _by_shell(context: ScanContext, codes: dict[str, bytes]) -> Answers:
    scripts = {path: shell for path, code in codes.items() if (shell := _shell_of(path, code))}
    place, words = re.compile(r": line (\d+): |: (\d+): "), re.compile(r": (?:line )?\d+: (.+)")
    # extglob: with `-n`, `shopt` is not executed, and extended patterns would be errors.
    bash = _each_file(context, "bash", ("-O", "extglob", "-n"), {path: str(context.files / path) for path in scripts})
    if bash:
        return _answers(bash, place, words, "bash")
    posix = {path: str(context.files / path) for path, shell in scripts.items() if shell == "sh"}
    return _answers(_each_file(context, "sh", ("-n",), posix), place, words, "sh")


def _shell_of(path: str, code: bytes) -> str:
    shebang = _SHEBANG.match(code)
    if shebang is None:
        return "bash" if path.endswith(_SHELL) else ""
    name = shebang[1].decode()
    return name if name in ("sh", "bash", "dash") else ""


def _by_gofmt(context: ScanContext, paths: list[str]) -> Answers:
    program = find_program(context, "gofmt")
    if program is None or not paths:
        return {}
    parsed_paths = paths[:MAX_FILES]
    argv = (program, "-e", "-l", *(str(context.files / path) for path in parsed_paths))
    output = call(context, "gofmt", argv, cpu_seconds=CPU_SECONDS)
    if output.trouble:
        return {}
    answers: Answers = dict.fromkeys(parsed_paths)
    place = re.escape(f"{context.files}/")
    for found in re.finditer(rf"^{place}(.+?\.go):(\d+):\d+: (.+)$", output.stderr, re.MULTILINE):
        if found[1] in answers and answers[found[1]] is None:
            answers[found[1]] = SyntaxProblem(int(found[2]), found[3].strip(), "gofmt")
    return answers


def _each_file(
    context: ScanContext, name: str, options: Sequence[str], files: dict[str, str]
) -> dict[str, tuple[int, str]]:
    """Exit code and output of one program per file. One shell starts all, since a sandbox for each is slow."""
    program, shell = find_program(context, name), find_program(context, "sh")
    if program is None or shell is None or not files:
        return {}
    mark = secrets.token_hex(8)
    loop = 'for file do "$0" $OPTIONS "$file" 2>&1; code=$?; echo; echo "$MARK $code"; done'
    # Files are passed as arguments, so no text of a change becomes shell code.
    env = {"MARK": mark, "OPTIONS": " ".join(options)}
    selection = dict(list(files.items())[:MAX_FILES])
    result = call(context, name, (shell, "-c", loop, program, *selection.values()), env=env, cpu_seconds=CPU_SECONDS)
    parts = re.split(rf"^{mark} (\d+)\n", result.stdout, flags=re.MULTILINE)
    if result.trouble or len(parts) != 2 * len(selection) + 1:
        return {}
    results = zip(parts[0::2], parts[1::2], strict=False)
    return {path: (int(code), text) for path, (text, code) in zip(selection, results, strict=False)}


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
