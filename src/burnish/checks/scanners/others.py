"""Analysers of other languages, used if they are installed."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnish.checks.reading import path_in_repository, shortened
from burnish.checks.scanners.base import (
    ScanContext,
    ScanResult,
    batched,
    call,
    find_program,
    last_line,
    line_number,
    read_json,
)
from burnish.core.finding import Category, Remark, Severity, outside_rule

SYNTAX = "syntax-error"
_JS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte")
_FLAT = tuple(f"eslint.config.{end}" for end in ("js", "mjs", "cjs", "ts", "mts", "cts"))
_OLD = tuple(f".eslintrc{end}" for end in (".js", ".cjs", ".yaml", ".yml", ".json", ""))
_SURE_JS = {"no-undef", "no-const-assign", "no-dupe-args", "no-this-before-super", "no-import-assign", "no-func-assign"}
_RAN = "ran with the repository's own settings, which may execute code"


@dataclass(frozen=True, slots=True)
class Shellcheck:
    name: str = "shellcheck"
    executes: str = ""

    def wants(self, path: str) -> bool:
        return path.endswith((".sh", ".bash", ".ksh"))

    def scan(self, context: ScanContext, paths: tuple[str, ...]) -> ScanResult:
        program = find_program(context, "shellcheck", inside=context.own_settings)
        if not program:
            return ScanResult(notes=("shellcheck is not installed: only the syntax of shell scripts was checked",))
        # --norc: a settings file of the change could disable rules.
        files = (str(context.files / path) for path in paths)
        argv = (program, "--format=json1", "--norc", "--severity=warning", "--", *files)
        output = call(context, "shellcheck", argv)
        report = read_json(output.stdout)
        if output.trouble or not isinstance(report, dict):
            return ScanResult(notes=(f"shellcheck: {output.trouble or last_line(output.stderr)}",))
        return ScanResult(tuple(_each(report.get("comments"), lambda item: _shell(context, item))))


def _shell(context: ScanContext, item: dict[str, Any]) -> Remark | None:
    code = item.get("code")
    if code == 2148:
        return None  # missing shebang: sourced scripts do not need one
    severity = Severity.ERROR if item.get("level") == "error" and str(code).startswith("1") else Severity.WARNING
    place = (item.get("file"), item.get("line"), item.get("endLine"))
    return _remark(context, f"SC{code}", severity, item.get("message"), place)


@dataclass(frozen=True, slots=True)
class Eslint:
    """The project's eslint and settings from the user's checkout; loads no files of the change."""

    name: str = "eslint"
    executes: str = "checkout"

    def wants(self, path: str) -> bool:
        return path.endswith(_JS)

    def program(self, context: ScanContext) -> str | None:
        own = context.checkout / "node_modules" / ".bin" / "eslint"
        return str(own) if own.is_file() else shutil.which("eslint", path=context.env.get("PATH"))

    def scan(self, context: ScanContext, paths: tuple[str, ...]) -> ScanResult:
        program = self.program(context)
        if not program:
            return ScanResult(
                notes=("eslint is not installed: of JavaScript and TypeScript only the syntax was checked",)
            )
        settings = _eslint_settings(context.checkout)
        if settings is None:
            return ScanResult(notes=("eslint: the repository has no settings for it",))
        remarks: list[Remark] = []
        notes = [f"eslint {_RAN}"]
        for number, batch in enumerate(batched(paths)):
            argv = (program, "--format=json", *settings, "--", *(f"./{path}" for path in batch))
            output = call(context, f"eslint-{number}", argv, cwd=context.files)
            report = read_json(output.stdout)
            if output.trouble or not isinstance(report, list):
                notes.append(f"eslint: {output.trouble or last_line(output.stderr)}")
                continue
            for file in report:
                if isinstance(file, dict):
                    path = file.get("filePath")
                    remarks += _each(file.get("messages"), lambda item, path=path: _js(context, path, item))
        return ScanResult(tuple(remarks), tuple(notes))


def _eslint_settings(checkout: Path) -> tuple[str, ...] | None:
    for name in _FLAT:
        if (checkout / name).is_file():
            return (f"--config={checkout / name}", "--no-warn-ignored")
    for name in _OLD:
        if (checkout / name).is_file():
            return ("--no-eslintrc", f"--config={checkout / name}", f"--resolve-plugins-relative-to={checkout}")
    return None


def _js(context: ScanContext, path: Any, item: dict[str, Any]) -> Remark | None:
    rule, message = item.get("ruleId"), str(item.get("message") or "")
    place = (path, item.get("line"), item.get("endLine"))
    if item.get("fatal"):
        # Not a defect in the code: the snapshot lacks files that the parser needs.
        if any(word in message for word in ("tsconfig", "parserOptions", "project", "Cannot find")):
            return None
        return _remark(context, SYNTAX, Severity.ERROR, message.removeprefix("Parsing error: "), place)
    if not isinstance(rule, str):
        return None
    if item.get("severity") != 2:
        return _remark(context, rule, Severity.INFO, message, place)
    return _remark(context, rule, Severity.ERROR if rule in _SURE_JS else Severity.WARNING, message, place)


@dataclass(frozen=True, slots=True)
class Golangci:
    name: str = "golangci-lint"
    executes: str = "change"

    def wants(self, path: str) -> bool:
        return path.endswith(".go")

    def program(self, context: ScanContext) -> str | None:
        return shutil.which("golangci-lint", path=context.env.get("PATH"))

    def scan(self, context: ScanContext, paths: tuple[str, ...]) -> ScanResult:
        program = self.program(context)
        if not program:
            return ScanResult(notes=("golangci-lint is not installed: of Go only the syntax was checked",))
        remarks: list[Remark] = []
        notes = [f"golangci-lint {_RAN}"]
        packages = sorted({str(Path("./", path).parent) for path in paths})
        cache = context.out_dir / "go-cache"
        quiet = {"GOFLAGS": "-mod=readonly", "GOPROXY": "off", "GOLANGCI_LINT_CACHE": str(cache)}
        for output in (("--output.json.path=stdout", "--output.text.path=/dev/null"), ("--out-format=json",)):
            argv = (program, "run", *_go_settings(context), *output, *(f"./{name}" for name in packages))
            result = call(context, "golangci", argv, cwd=context.files, env=quiet, writable=cache)
            report = read_json(result.stdout.strip().split("\n")[0])
            if isinstance(report, dict):
                remarks += _each(report.get("Issues"), lambda item: _go(context, item))
                return ScanResult(tuple(remarks), tuple(notes))
        return ScanResult(notes=(f"golangci-lint: {result.trouble or last_line(result.stderr)}",))


def _go_settings(context: ScanContext) -> tuple[str, ...]:
    """The settings at the base; a change must not weaken them."""
    for name in (".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"):
        text = context.base_text(name)
        if text is not None:
            place = context.out_dir / name
            place.write_text(text, "utf-8", errors="replace")
            return (f"--config={place}",)
    return ("--no-config",)


def _go(context: ScanContext, item: dict[str, Any]) -> Remark | None:
    linter, position = str(item.get("FromLinter") or "go"), item.get("Pos")
    if not isinstance(position, dict):
        return None
    severity = Severity.ERROR if linter == "typecheck" else Severity.WARNING
    place = (position.get("Filename"), position.get("Line"), None)
    category = Category.SECURITY if linter == "gosec" else Category.CODE
    return _remark(context, linter, severity, item.get("Text"), place, category)


@dataclass(frozen=True, slots=True)
class Clippy:
    name: str = "clippy"
    executes: str = "change"

    def wants(self, path: str) -> bool:
        return path.endswith(".rs")

    def program(self, context: ScanContext) -> str | None:
        path = context.env.get("PATH")
        return shutil.which("cargo", path=path) if shutil.which("cargo-clippy", path=path) else None

    def scan(self, context: ScanContext, paths: tuple[str, ...]) -> ScanResult:
        program = self.program(context)
        if not program:
            return ScanResult(notes=("cargo clippy is not installed: of Rust only the syntax was checked",))
        if not (context.files / "Cargo.lock").is_file():
            return ScanResult(notes=("clippy: skipped, because there is no Cargo.lock",))
        target = context.out_dir / "target"
        words = ("--message-format=json", "--offline", "--locked", "--workspace", f"--target-dir={target}")
        output = call(context, "clippy", (program, "clippy", *words), cwd=context.files, writable=target)
        found = [item for line in output.stdout.split("\n") if isinstance(item := read_json(line), dict)]
        remarks = _each((item.get("message") for item in found), lambda item: _rust(context, item))
        trouble = output.trouble or ("" if found else last_line(output.stderr))
        return ScanResult(tuple(remarks), (f"clippy {_RAN}", *((f"clippy: {trouble}",) if trouble else ())))


def _rust(context: ScanContext, item: dict[str, Any]) -> Remark | None:
    spans = item.get("spans")
    first = (
        next((s for s in spans if isinstance(s, dict) and s.get("is_primary")), None)
        if isinstance(spans, list)
        else None
    )
    if first is None or item.get("level") not in ("error", "warning"):
        return None
    code = item.get("code")
    rule = str(code.get("code")) if isinstance(code, dict) else SYNTAX
    # The project may turn lints into errors; only compiler errors have a number or no name.
    sure = item["level"] == "error" and (rule == SYNTAX or rule.startswith("E0"))
    place = (first.get("file_name"), first.get("line_start"), first.get("line_end"))
    return _remark(context, rule, Severity.ERROR if sure else Severity.WARNING, item.get("message"), place)


def _each(items: Any, read: Any) -> Iterator[Remark]:
    for item in items if isinstance(items, Iterable) else ():
        remark = read(item) if isinstance(item, dict) else None
        if remark is not None:
            yield remark


def _remark(
    context: ScanContext,
    rule: str,
    severity: Severity,
    message: Any,
    place: tuple[Any, Any, Any],
    category: Category = Category.CODE,
) -> Remark | None:
    path = path_in_repository(place[0], context.files) if isinstance(place[0], str) else None
    line, words = line_number(place[1]), shortened(str(message or rule))
    if path is None or line is None:
        return None
    if "security" in rule:
        category = Category.SECURITY
    title = shortened(words.split("\n")[0], longest=200)
    end = line_number(place[2]) or line
    return Remark(
        category, severity, title, words, file=path, line=line, end_line=end, rule=outside_rule(rule), source="static"
    )
