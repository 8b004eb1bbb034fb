"""Finds the tools of Go, Rust, Ruby, PHP and Deno projects: one conventional command each."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from burnish.checks.project_scripts import TestScripts, find_test_scripts
from burnish.checks.tools import MAX_OPENED, ProjectFolder, Read, ToolChoice, Tools, UnrunTests
from burnish.checks.unrun_tests import (
    unrun_go_tests,
    unrun_rust_targets,
    unrun_rust_tests,
    unrun_suites,
)
from burnish.regular_files import parse_toml


def go_tools(place: ProjectFolder) -> Tools | None:
    if "go.mod" not in place.names:
        return None
    config_file = next((name for name in sorted(place.names) if re.fullmatch(r"\.golangci\.\w+", name)), None)
    lint = ToolChoice("go vet ./...", "part of Go itself")
    notes: tuple[str, ...] = ()
    if config_file and place.around.has_program("golangci-lint"):
        lint = ToolChoice("golangci-lint run", config_file)
    elif config_file:
        notes = (_not_installed("golangci-lint", config_file, instead="go vet"),)
    test = ToolChoice("go test ./...", "go.mod")
    unrun_tests = unrun_go_tests(place, str(test.command))
    return Tools(place.folder, "Go", test, lint, None, place.count(".go"), notes, unrun_tests=unrun_tests)


def rust_tools(place: ProjectFolder) -> Tools | None:
    if "Cargo.toml" not in place.names:
        return None
    every = " --workspace" if re.search(r"^\[workspace\]", place.read("Cargo.toml"), re.M) else ""
    lint: ToolChoice | None = ToolChoice(f"cargo clippy{every} --all-targets -- -D warnings", "Rust's usual linter")
    notes: tuple[str, ...] = ()
    if not place.around.has_program("cargo-clippy"):
        lint, notes = None, (_not_installed("cargo-clippy", "Cargo.toml"),)
    test = ToolChoice(f"cargo test{every}", "Cargo.toml")
    more_tests = [
        ToolChoice(f"cargo test{every} --all-features", name) for name in _tested_with_all_features(place)[:1]
    ]
    unrun_tests = (*(() if more_tests else unrun_rust_tests(place)), *unrun_rust_targets(place))
    weight = place.count(".rs")
    return Tools(
        place.folder, "Rust", test, lint, None, weight, notes, more_tests=tuple(more_tests), unrun_tests=unrun_tests
    )


def _tested_with_all_features(place: ProjectFolder) -> list[str]:
    """Files in which the project itself tests all features: those of its CI, of make and of just."""
    names = [
        *(path for path in place.paths if re.fullmatch(r"\.github/workflows/[^/]+\.ya?ml", path)),
        *(
            name
            for name in ("Makefile", "justfile", "Justfile", ".gitlab-ci.yml", ".travis.yml")
            if name in place.names
        ),
    ]
    pattern = re.compile(r"\bcargo\s+(?:\+\S+\s+)?(?:test|nextest run)\b[^\n]*--all-features")
    return [name for name in names[:MAX_OPENED] if pattern.search(place.read(name))]


def ruby_tools(place: ProjectFolder) -> Tools | None:
    if not place.first("Gemfile", "Rakefile", ".rspec"):
        kinds = (("ruby", _RUBY_TEST_FILE), ("rspec", _RUBY_SPEC))
        found = [name for name, pattern in kinds if any(map(pattern.fullmatch, place.paths))]
        if not found or not all(map(place.around.has_program, found)):
            return None
    has_gemfile = "Gemfile" in place.names
    prefix = "bundle exec " if has_gemfile else ""
    tests = _ruby_tests(place, prefix)
    lint, notes = _ruby_lint(place, prefix, has_gemfile=has_gemfile)
    setup = ToolChoice("bundle install", "Gemfile") if has_gemfile else None
    return Tools(
        place.folder,
        "Ruby",
        tests[0] if tests else None,
        lint,
        setup,
        place.count(".rb"),
        notes,
        more_tests=tuple(tests[1:]),
        unrun_tests=_unrun_ruby_tests(place),
    )


def _ruby_lint(place: ProjectFolder, prefix: str, *, has_gemfile: bool) -> tuple[ToolChoice | None, tuple[str, ...]]:
    if ".rubocop.yml" not in place.names:
        return None, ()
    files = [name for name in place.names if name in ("Gemfile", "Gemfile.lock") or name.endswith(".gemspec")]
    is_dependency = any("rubocop" in place.read(name) for name in files)
    if is_dependency if has_gemfile else place.around.has_program("rubocop"):
        return ToolChoice(f"{prefix}rubocop", ".rubocop.yml"), ()
    return None, (_not_installed("rubocop", ".rubocop.yml"),)


# A Rakefile that defines a task `test`; those of Rails and of Hoe do so by their own code.
_RAKE_TEST = re.compile(r"\b(?:TestTask|Minitest::\w+|load_tasks|Hoe)\b|\btask[ (]+[:'\"]?test\b")
_RUBY_TEST_FILE = re.compile(r"test/(?:.*/)?(?:test_[^/]*|[^/]*_test)\.rb")
_RUBY_SPEC = re.compile(r"spec/(?:.*/)?[^/]*_spec\.rb")
_RUN_RUBY_TESTS = 'Dir["./test/**/{test_*,*_test}.rb"].sort.each { |file| require file }'


def _not_installed(program: str, config_file: str, *, instead: str = "") -> str:
    """A note about a missing linter, which is left out because it would stop every task at the start."""
    consequence = f"{instead} is used instead" if instead else "not added as a check"
    return f"{program} is not installed here ({config_file}): {consequence}."


def _ruby_tests(place: ProjectFolder, prefix: str) -> list[ToolChoice]:
    """rspec for `spec`, and the task `test` of rake, or ruby itself, for `test`."""
    tests: list[ToolChoice] = []
    if ".rspec" in place.names or any(path.startswith("spec/") and path.endswith("_spec.rb") for path in place.paths):
        tests.append(ToolChoice(f"{prefix}rspec", ".rspec" if ".rspec" in place.names else "specs in spec/"))
    is_helped = "Rakefile" in place.names and (not tests or _RAKE_TEST.search(place.read("Rakefile")))
    has_files = any(_RUBY_TEST_FILE.fullmatch(path) for path in place.paths)
    if is_helped and (has_files or (not tests and any(path.startswith("test/") for path in place.paths))):
        tests.append(ToolChoice(f"{prefix}rake test", "Rakefile and test/"))
    elif has_files:
        tests.append(
            ToolChoice(f"{prefix}ruby -Ilib -Itest -e '{_RUN_RUBY_TESTS}'", "tests in test/, and no rake task")
        )
    return tests


def _unrun_ruby_tests(place: ProjectFolder) -> tuple[UnrunTests, ...]:
    found = []
    if any(path.startswith("test/system/") and path.endswith("_test.rb") for path in place.paths):
        found.append(UnrunTests("rails test:system", "test:system", "system tests need a browser"))
    if any(path.startswith("features/") and path.endswith(".feature") for path in place.paths):
        found.append(UnrunTests("cucumber", "cucumber", "features may need a browser or services"))
    return tuple(found)


def php_tools(place: ProjectFolder) -> Tools | None:
    settings = place.first("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml")
    package = _json_table(place.read("composer.json")) if "composer.json" in place.names else None
    if package is None and settings is None:
        return None
    scripts, dev_packages = (package or {}).get("scripts"), (package or {}).get("require-dev")
    test_scripts = _scripts(scripts, dev_packages if isinstance(dev_packages, dict) else {})
    more_tests, unrun_tests = _further_scripts(test_scripts, "composer", "composer.json")
    test: ToolChoice | None = None
    if test_scripts.first:
        test = ToolChoice(f"composer {test_scripts.first}", f"script `{test_scripts.first}` in composer.json")
    elif isinstance(dev_packages, dict) and "phpunit/phpunit" in dev_packages:
        test = ToolChoice("vendor/bin/phpunit", "phpunit in composer.json")
    elif settings and place.around.has_program("phpunit"):
        test = ToolChoice("phpunit", settings)
    has_packages = any((package or {}).get(key) for key in ("require", "require-dev", "autoload"))
    setup = ToolChoice("composer install --no-interaction", "composer.json") if has_packages else None
    if setup and test and test.command == "phpunit" and not place.around.has_program("composer"):
        setup = None
    if test is None:
        return None
    weight = place.count(".php")
    if settings and "phpunit" in str(test.command):
        unrun_tests = (*unrun_tests, *unrun_suites(place, [settings]))
    return Tools(place.folder, "PHP", test, None, setup, weight, more_tests=more_tests, unrun_tests=unrun_tests)


def _scripts(scripts: object, dependencies: Iterable[str]) -> TestScripts:
    """The test scripts of composer.json or deno.json, whose values may be lists and tables."""
    texts = {}
    for name, value in scripts.items() if isinstance(scripts, dict) else ():
        commands = value.get("command", "") if isinstance(value, dict) else value
        texts[str(name)] = "\n".join(map(str, commands)) if isinstance(commands, list) else str(commands)
    return find_test_scripts(texts, list(dependencies), has_services=False)


def _further_scripts(
    scripts: TestScripts, start: str, file: str
) -> tuple[tuple[ToolChoice, ...], tuple[UnrunTests, ...]]:
    more = tuple(ToolChoice(f"{start} {name}", f"script `{name}` in {file}") for name in scripts.more)
    return more, tuple(UnrunTests(f"{start} {name}", name, why) for name, why in scripts.unrun)


def deno_tools(place: ProjectFolder) -> Tools | None:
    name = place.first("deno.json", "deno.jsonc")
    # a package.json names the tests of a project that has both
    if name is None or "package.json" in place.names:
        return None
    scripts = _scripts((_json_table(place.read(name)) or {}).get("tasks"), ())
    more_tests, unrun_tests = _further_scripts(scripts, "deno task", name)
    test: ToolChoice | None = None
    if scripts.first:
        test = ToolChoice(f"deno task {scripts.first}", f"task `{scripts.first}` in {name}")
    elif any(re.search(r"(?:^|[._/])test\.[cm]?[jt]sx?$", path) for path in place.paths):
        # names each test, unlike the usual output
        test = ToolChoice("deno test --reporter=tap", name)
    weight = place.count(".ts", ".tsx", ".js", ".jsx", ".mjs")
    return Tools(place.folder, "Deno", test, weight=weight, more_tests=more_tests, unrun_tests=unrun_tests)


def _json_table(text: str) -> dict[str, Any] | None:
    # deno.jsonc has comments on lines of their own
    try:
        table = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.M))
    except (ValueError, RecursionError):
        return None
    return table if isinstance(table, dict) else None


# -- cargo workspaces -----------------------------------------------------------------------------
# Which crates need their own `cargo test`, and which ones another crate's command tests. Pure.
#
# Folder names do not decide this: cargo's own rules do (members, exclude and path dependencies of a workspace), and
# the marks that `cargo vendor` leaves.

_TEST = re.compile(r"#\[\s*(?:\w+::)*\w*test\w*\b|#!?\[\s*cfg\s*\(.*\btest\b")
_DOC_FENCE = re.compile(r"^\s*//[/!]\s*```(.*)$", re.M)
_RUN_AS_TEST = re.compile(r"\s*(?:rust|should_panic|no_run|compile_fail|edition\d+|[\s,{}])*")


def is_tested_elsewhere(folder: str, paths: Sequence[str], read: Read) -> bool:
    """True if the crate needs no command of its own: another crate's command tests it, or it has no tests."""
    if _is_vendored(folder, paths, read):
        return True
    above = [parent for parent in _parents(folder) if _join(parent, "Cargo.toml") in set(paths)]
    if not above:
        return False
    if _table(_read_manifest(folder, read), "workspace") is None:
        workspaces = {root: _table(_read_manifest(root, read), "workspace") for root in above}
        # a crate below a workspace is a member that the root's command tests, or cargo refuses to run in it
        if any(table is not None and not _is_excluded(folder, root, table) for root, table in workspaces.items()):
            return True
    return not _has_tests(folder, paths, read)


def _is_vendored(folder: str, paths: Sequence[str], read: Read) -> bool:
    """True for output of `cargo vendor` and for folders that replace a registry in .cargo/config.toml."""
    if _join(folder, ".cargo-checksum.json") in set(paths):
        return True
    configs = (path for path in paths if re.search(r"(?:^|/)\.cargo/config(?:\.toml)?$", path))
    for config in configs:
        base = posixpath.dirname(posixpath.dirname(config))
        for source in _tables(_table(_parse(read(config)), "source")):
            directory = source.get("directory")
            if isinstance(directory, str) and _is_below(folder, _resolve(base, directory)):
                return True
    return False


def _is_excluded(folder: str, root: str, workspace: dict[str, Any]) -> bool:
    """An explicit entry in `members` overrides `exclude`."""
    is_excluded, is_member = (
        any(folder == path or _is_below(folder, path) for path in _resolved(workspace.get(key), root))
        for key in ("exclude", "members")
    )
    return is_excluded and not is_member


def _resolved(names: object, root: str) -> list[str]:
    return [_resolve(root, name) for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _has_tests(folder: str, paths: Iterable[str], read: Read) -> bool:
    """True if the crate has tests in `tests/`, in its code or in its docs. Large crates are assumed to have some."""
    start = f"{folder}/"
    sources = [path for path in paths if path.startswith(start) and path.endswith(".rs")]
    if any(path.startswith(f"{start}tests/") for path in sources) or len(sources) > MAX_OPENED:
        return True
    return any(_text_has_tests(read(path) or "") for path in sources)


def _text_has_tests(text: str) -> bool:
    # every second fence ends an example
    examples = _DOC_FENCE.findall(text)[::2]
    return bool(_TEST.search(text)) or any(_RUN_AS_TEST.fullmatch(language) for language in examples)


def _read_manifest(folder: str, read: Read) -> dict[str, Any]:
    return _parse(read(_join(folder, "Cargo.toml")))


def _parse(text: str | None) -> dict[str, Any]:
    try:
        return parse_toml(text or "")
    except (ValueError, RecursionError):
        return {}


def _table(table: dict[str, Any], name: str) -> dict[str, Any] | None:
    found = table.get(name)
    return found if isinstance(found, dict) else None


def _tables(table: dict[str, Any] | None) -> list[dict[str, Any]]:
    return [value for value in (table or {}).values() if isinstance(value, dict)]


def _parents(folder: str) -> Iterator[str]:
    """The folders above this one, the nearest first; the root is ""."""
    while folder:
        folder = posixpath.dirname(folder)
        yield folder


def _is_below(folder: str, other: str) -> bool:
    return other == "" or folder.startswith(f"{other}/")


def _resolve(base: str, name: str) -> str:
    path = posixpath.normpath(_join(base, name))
    return "" if path == "." else path


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
