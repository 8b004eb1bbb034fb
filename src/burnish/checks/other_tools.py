"""Finds the tools of Go, Rust, Java, Ruby and Make projects: one conventional command each."""

from __future__ import annotations

import re

from burnish.checks.tools import ProjectFolder, ToolChoice, Tools


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
    return Tools(place.folder, "Go", ToolChoice("go test ./...", "go.mod"), lint, None, place.count(".go"), notes)


def rust_tools(place: ProjectFolder) -> Tools | None:
    if "Cargo.toml" not in place.names:
        return None
    every = " --workspace" if re.search(r"^\[workspace\]", place.read("Cargo.toml"), re.M) else ""
    lint: ToolChoice | None = ToolChoice(f"cargo clippy{every} --all-targets -- -D warnings", "Rust's usual linter")
    notes: tuple[str, ...] = ()
    if not place.around.has_program("cargo-clippy"):
        lint, notes = None, (_not_installed("cargo-clippy", "Cargo.toml"),)
    test = ToolChoice(f"cargo test{every}", "Cargo.toml")
    return Tools(place.folder, "Rust", test, lint, None, place.count(".rs"), notes)


def java_tools(place: ProjectFolder) -> Tools | None:
    weight = place.count(".java", ".kt", ".groovy", ".scala")
    if "pom.xml" in place.names:
        program = "./mvnw" if "mvnw" in place.names else "mvn"
        return Tools(place.folder, "Java", ToolChoice(f"{program} -q -B test", "pom.xml"), weight=weight)
    if name := place.first("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"):
        program = "./gradlew" if "gradlew" in place.names else "gradle"
        return Tools(place.folder, "Java", ToolChoice(f"{program} test", name), weight=weight)
    return None


def ruby_tools(place: ProjectFolder) -> Tools | None:
    if not place.first("Gemfile", "Rakefile", ".rspec"):
        return None
    has_gemfile = "Gemfile" in place.names
    prefix = "bundle exec " if has_gemfile else ""
    test = _ruby_test(place, prefix)
    lint, notes = _ruby_lint(place, prefix, has_gemfile=has_gemfile)
    setup = ToolChoice("bundle install", "Gemfile") if has_gemfile else None
    return Tools(place.folder, "Ruby", test, lint, setup, place.count(".rb"), notes)


def _ruby_lint(place: ProjectFolder, prefix: str, *, has_gemfile: bool) -> tuple[ToolChoice | None, tuple[str, ...]]:
    if ".rubocop.yml" not in place.names:
        return None, ()
    files = [name for name in place.names if name in ("Gemfile", "Gemfile.lock") or name.endswith(".gemspec")]
    is_dependency = any("rubocop" in place.read(name) for name in files)
    if is_dependency if has_gemfile else place.around.has_program("rubocop"):
        return ToolChoice(f"{prefix}rubocop", ".rubocop.yml"), ()
    return None, (_not_installed("rubocop", ".rubocop.yml"),)


def _not_installed(program: str, config_file: str, *, instead: str = "") -> str:
    """A note about a missing linter, which is left out because it would stop every task at the start."""
    consequence = f"{instead} is used instead" if instead else "not added as a check"
    return f"{program} is not installed here ({config_file}): {consequence}."


def _ruby_test(place: ProjectFolder, prefix: str) -> ToolChoice | None:
    if ".rspec" in place.names or any(path.startswith("spec/") and path.endswith("_spec.rb") for path in place.paths):
        return ToolChoice(f"{prefix}rspec", ".rspec" if ".rspec" in place.names else "specs in spec/")
    if "Rakefile" in place.names and any(path.startswith("test/") for path in place.paths):
        return ToolChoice(f"{prefix}rake test", "Rakefile and test/")
    return None


def make_tools(place: ProjectFolder) -> Tools | None:
    """Targets of a Makefile; the fallback if no language tools are found."""
    name = place.first("GNUmakefile", "Makefile", "makefile")
    if not name:
        return None
    targets = set(re.findall(r"^([\w.-]+)[ \t]*::?(?![=:])", place.read(name), re.M))
    test = next((target for target in ("test", "tests", "check") if target in targets), None)
    return Tools(
        place.folder,
        "Make",
        ToolChoice(f"make {test}", f"target `{test}` in {name}") if test else None,
        ToolChoice("make lint", f"target `lint` in {name}") if "lint" in targets else None,
    )
