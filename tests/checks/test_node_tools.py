"""Tests that need the script `build` of package.json to run first."""

from __future__ import annotations

import json
from typing import Any

import pytest

from burnish.checks.discover import decide, detect, discover
from burnish.checks.tools import Surroundings

TEST = 'const { add } = require("../dist/calc.js");\n'
SCRIPTS = {"build": "tsc", "test": "node --test test/"}


def around() -> Surroundings:
    return Surroundings(ignored=lambda path: path.rstrip("/").endswith(("dist", "node_modules", "coverage")))


def build(scripts: dict[str, str], files: dict[str, str], **more: Any) -> Any:
    package = json.dumps({"name": "calc", "scripts": scripts, **more})
    files = {"package.json": package, "package-lock.json": "{}", "src/calc.ts": "", **files}
    assert "build" not in [spec.name for spec in detect(files, files.get, around())]
    found = decide(discover(files, files.get, around()))
    return next((one.value for one in found if one.key == ("checks", "build")), None)


@pytest.mark.parametrize(
    ("files", "more"),
    [
        ({"test/calc.test.js": TEST}, {}),
        ({"test/deep/calc.test.mjs": 'import { add } from "../../dist/calc.js";\n'}, {}),
        ({"test/calc.test.js": 'const calc = require("..");\n'}, {"main": "./dist/calc.js"}),
        ({"src/calc.test.js": 'import("calc");\n'}, {"exports": {".": {"import": "./dist/calc.mjs"}}}),
        ({"test/cli.test.js": 'spawn("node", ["./dist/cli.js"]);\n'}, {}),
    ],
)
def test_tests_of_an_ignored_build_need_it(files: dict[str, str], more: dict[str, Any]) -> None:
    assert build(SCRIPTS, files, **more) == "npm run build"


def test_the_test_command_may_name_the_build() -> None:
    assert build({"build": "tsc", "test": "mocha dist/test"}, {"src/test/calc.ts": ""}) == "npm run build"


@pytest.mark.parametrize(
    ("test", "files", "more"),
    [
        ("node --test dist", {}, {}),
        ("jest", {}, {"jest": {"testMatch": ["<rootDir>/dist/**/*.test.js"]}}),
        ("jest", {"jest.config.js": "module.exports = { roots: ['<rootDir>/dist'] };\n"}, {}),
        ("mocha", {".mocharc.json": '{"spec": "dist/test/*.js"}'}, {}),
        ("ava", {}, {"ava": {"files": ["dist/test/**"]}}),
    ],
)
def test_the_settings_of_a_runner_may_name_the_build(test: str, files: dict[str, str], more: dict[str, Any]) -> None:
    scripts = {"build": "tsc", "test": test}
    assert build(scripts, {"src/calc.test.ts": "", **files}, **more) == "npm run build"


def test_settings_that_leave_out_the_build_do_not_need_it() -> None:
    ignored = {"testPathIgnorePatterns": ["<rootDir>/dist/"], "testMatch": ["**/*.test.ts", "!<rootDir>/dist/**"]}
    assert build({"build": "tsc", "test": "jest"}, {"src/calc.test.ts": ""}, jest=ignored) is None


@pytest.mark.parametrize(
    "scripts",
    [
        SCRIPTS | {"pretest": "npm run build"},
        SCRIPTS | {"prepare": "tsc -p ."},
        {"build": "tsc", "test": "npm run build && node --test"},
        {"test": "node --test"},
        {"build": "tsc"},
    ],
)
def test_a_build_that_other_scripts_make_or_that_is_not_there_is_not_added(scripts: dict[str, str]) -> None:
    assert build(scripts, {"test/calc.test.js": TEST}) is None


@pytest.mark.parametrize(
    "files",
    [
        {"test/calc.test.ts": 'import { add } from "../src/calc";\n'},
        {"test/calc.test.js": 'require("../node_modules/x"); require("../coverage/y");\n'},
        {"test/calc.test.js": 'require("../../dist/x");\n'},
        # strings that are not imports
        {"test/path.test.js": 'expect(join("../", "./dist")).toBe("../dist/");\n'},
    ],
)
def test_tests_of_the_sources_need_no_build(files: dict[str, str]) -> None:
    assert build(SCRIPTS, files, main="dist/calc.js") is None


@pytest.mark.parametrize("listed", [{"out/calc.js": ""}, {}])
def test_a_committed_build_is_made_again_from_the_sources(listed: dict[str, str]) -> None:
    """`init` does not list the files of such a folder, `auto` does."""
    files = {"test/calc.test.js": TEST.replace("dist", "out"), **listed}
    assert build(SCRIPTS, files) == "npm run build"
    assert build(SCRIPTS, {"test/calc.test.js": 'require("../lib/calc.js");\n', "lib/calc.js": ""}) is None
    package = {"package.json": json.dumps({"scripts": SCRIPTS}), "package-lock.json": "{}"}
    without_sources = {**package, "test/calc.test.js": TEST.replace("dist", "out"), "out/calc.js": ""}
    found = decide(discover(without_sources, without_sources.get, around()))
    assert ("checks", "build") not in [one.key for one in found]


def test_packages_of_a_workspace_import_the_builds_of_each_other() -> None:
    files = {
        "packages/calc/package.json": json.dumps({"name": "@x/calc", "main": "dist/calc.js"}),
        "packages/app/package.json": json.dumps({"name": "@x/app", "scripts": {"test": "mocha"}}),
        "packages/app/test/calc.js": 'require("@x/calc");\n',
    }
    scripts = {"build": "npm run build --workspaces", "test": "npm test --workspaces"}
    assert build(scripts, files, workspaces=["packages/*"]) == "npm run build"
