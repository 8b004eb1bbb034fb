"""Layouts of repositories in many languages, and how each is tested, linted and made ready."""

from __future__ import annotations

import json
from typing import Any

PYTEST = ("python", "-m", "pytest", "-q")
RUFF = ("ruff", "check", "--output-format=concise")


def package(scripts: dict[str, str] | None = None, **more: Any) -> str:
    return json.dumps({"name": "x", "scripts": scripts or {}, **more})


def in_folder(folder: str, command: str | tuple[str, ...]) -> dict[str, Any]:
    """A check that runs in a folder of the repository."""
    return {"run": command, "cwd": folder}


UV_PYTEST = "uv run --no-sync python -m pytest -q"
VENV = "python3 -m venv .venv && echo '*' > .venv/.gitignore && "
PIP = VENV + ".venv/bin/python -m pip install -q"
PIP_WITH_GROUPS = PIP + " 'pip>=25.1' && .venv/bin/python -m pip install -q"


TEST = "def test_add():\n    assert True\n"
UNIT = "import unittest\n\n\nclass Test(unittest.TestCase):\n    def test_a(self): ...\n"

PYTHON: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "tests that are skipped without an extra": (
        {
            "pyproject.toml": '[project]\nname = "calc"\n[project.optional-dependencies]\n'
            'test = ["pytest"]\nfast = ["numpy>1"]\ndocs = ["sphinx"]\n',
            "src/calc/__init__.py": "",
            "tests/test_fast.py": 'np = pytest.importorskip("numpy", minversion="1")\ndef test_it(): pass\n',
        },
        {
            "checks.test": PYTEST,
            "workspace.setup": "python3 -m venv .venv && echo '*' > .venv/.gitignore"
            " && .venv/bin/python -m pip install -q -e '.[test,fast]'",
        },
    ),
    "requirements files that nox and tox install": (
        {
            "pyproject.toml": '[project]\nname = "calc"\n',
            "src/calc/__init__.py": "",
            "tests/test_calc.py": TEST,
            "tests/requirements.txt": "pytest\nfakefs\n",
            "deps/unit.txt": "attrs\n",
            "docs/requirements.txt": "sphinx\n",
            "noxfile.py": "@nox.session\ndef test(session):\n    session.install('.')\n"
            "    session.install('-r', 'tests/requirements.txt', '-c', 'limits.txt')\n    session.run('pytest')\n"
            "@nox.session\ndef docs(session):\n    session.install('-r', 'docs/requirements.txt')\n",
            "tox.ini": "[testenv]\ndeps =\n    -r{toxinidir}/deps/unit.txt\n    -r missing.txt\ncommands = pytest\n",
        },
        {"checks.test": PYTEST, "workspace.setup": PIP + " -r deps/unit.txt -r tests/requirements.txt -e ."},
    ),
    "packages that nox installs beside a requirements file": (
        {
            "calc.py": "",
            "requirements-dev.txt": "pytest\n",
            "noxfile.py": "import nox\n@nox.session\ndef tests(session):\n"
            "    session.install('-r', 'requirements-dev.txt')\n"
            "    session.install('toolz>=1', 'pytest-mock', 'codecov')\n    session.run('pytest')\n",
            "tests/test_calc.py": "import pytest\ntoolz = pytest.importorskip('toolz')\n" + TEST,
        },
        {"checks.test": PYTEST, "workspace.setup": PIP + " -r requirements-dev.txt 'toolz>=1' pytest-mock"},
    ),
    "settings of pytest in the folder of the tests": (
        {"calc.py": "", "tests/pytest.ini": "[pytest]\n", "tests/test_calc.py": TEST},
        {"checks.test": ("python", "-m", "pytest", "-q", "tests")},
    ),
    "settings of other tools in the folder of the tests": (
        {"calc.py": "", "tests/setup.cfg": "[flake8]\n", "tests/test_calc.py": TEST},
        {"checks.test": PYTEST},
    ),
    "meson-python": (
        {
            "pyproject.toml": '[project]\nname = "calc"\n[build-system]\nrequires = ["meson-python>=0.15", "cython"]\n'
            'build-backend = "mesonpy"\n',
            "src/calc/__init__.py": "",
            "tests/test_calc.py": "def test_it(): pass\n",
        },
        {
            "checks.test": ("python", "-m", "pytest", "-q"),
            "workspace.setup": "python3 -m venv .venv && echo '*' > .venv/.gitignore"
            " && .venv/bin/python -m pip install -q"
            " 'meson-python>=0.15' cython ninja && .venv/bin/python -m pip install -q --no-build-isolation -e . pytest",
        },
    ),
    "plain pytest": ({"app.py": "", "test_app.py": TEST}, {"checks.test": PYTEST}),
    "conftest": ({"tests/conftest.py": ""}, {"checks.test": PYTEST}),
    "unittest": (
        {"app.py": "", "tests/test_app.py": UNIT},
        {"checks.test": ("python", "-m", "unittest", "discover", "-s", "tests")},
    ),
    "unittest beside the code": (
        {"app.py": "", "test_app.py": UNIT},
        {"checks.test": ("python", "-m", "unittest", "discover")},
    ),
    "unittest run by a declared pytest": (
        {"tests/test_app.py": UNIT, "requirements.txt": "pytest\n"},
        {"checks.test": PYTEST, "workspace.setup": f"{PIP} -r requirements.txt"},
    ),
    "django": (
        {"manage.py": "", "shop/tests.py": "from django.test import TestCase\n"},
        {"checks.test": ("python", "manage.py", "test")},
    ),
    "uv": (
        {
            "uv.lock": "",
            "pyproject.toml": '[project]\nname = "x"\n[dependency-groups]\ndev = ["pytest", "ruff"]\n[tool.ruff]\n',
            "tests/test_a.py": TEST,
        },
        {
            "checks.test": "uv run --no-sync python -m pytest -q",
            "checks.lint": "uv run --no-sync ruff check --output-format=concise",
            "workspace.setup": "uv sync",
        },
    ),
    "uv with pytest in an extra": (
        {"uv.lock": "", "pyproject.toml": '[project.optional-dependencies]\ntest = ["pytest"]\n', "test_a.py": TEST},
        {"checks.test": "uv run --no-sync python -m pytest -q", "workspace.setup": "uv sync --all-extras"},
    ),
    "poetry": (
        {"pyproject.toml": "[tool.poetry]\n[tool.pytest.ini_options]\n", "test_a.py": TEST},
        {
            "checks.test": "poetry run python -m pytest -q",
            "workspace.setup": "POETRY_VIRTUALENVS_IN_PROJECT=1 poetry install "
            "&& poetry run python -m pip install -q pytest",
        },
    ),
    "pdm": (
        {"pdm.lock": "", "pyproject.toml": "[tool.pdm.dev-dependencies]\ntest = ['pytest']\n", "test_a.py": TEST},
        {"checks.test": "pdm run python -m pytest -q", "workspace.setup": "pdm install"},
    ),
    "pipenv": (
        {"Pipfile": "[dev-packages]\npytest = '*'\n", "test_a.py": UNIT},
        {
            "checks.test": "pipenv run python -m pytest -q",
            "workspace.setup": "PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev",
        },
    ),
    "a package of its own": (
        {
            "pyproject.toml": '[project]\nname = "x"\n[project.optional-dependencies]\ndev = ["pytest"]\n',
            "src/x/a.py": "",
            "tests/test_a.py": TEST,
        },
        {"checks.test": PYTEST, "workspace.setup": f"{PIP} -e '.[dev]'"},
    ),
    "requirements without pytest": (
        {"requirements.txt": "flask\n", "requirements-dev.txt": "black\n", "test_a.py": TEST},
        {"checks.test": PYTEST, "workspace.setup": f"{PIP} -r requirements-dev.txt -r requirements.txt pytest"},
    ),
    "ruff and flake8": ({"ruff.toml": "", ".flake8": "", "a.py": ""}, {"checks.lint": RUFF}),
    "flake8": ({"setup.cfg": "[flake8]\n", "a.py": ""}, {"checks.lint": ("python", "-m", "flake8")}),
    "flake8 beside an environment": (
        {"setup.cfg": "[flake8]\nexclude = docs\n", "requirements.txt": "flake8\n", "a.py": ""},
        {
            "checks.lint": ("python", "-m", "flake8", "--extend-exclude=.venv"),
            "workspace.setup": f"{PIP} -r requirements.txt",
        },
    ),
    "flake8 that nothing installs": (
        {"setup.cfg": "[flake8]\n", "requirements.txt": "flask\n", "a.py": ""},
        {"workspace.setup": f"{PIP} -r requirements.txt"},
    ),
    "settings for pytest declare no pytest": (
        {
            "pyproject.toml": '[project]\nname = "x"\ndependencies = ["attrs"]\n[tool.pytest.ini_options]\n',
            "src/x/a.py": "",
            "tests/test_a.py": TEST,
        },
        {"checks.test": PYTEST, "workspace.setup": f"{PIP} -e . pytest"},
    ),
    "a dependency group and features": (
        {
            "pyproject.toml": '[project]\nname = "x"\ndependencies = ["attrs"]\n[project.optional-dependencies]\n'
            'fast = ["orjson"]\ndocs = ["sphinx"]\n[dependency-groups]\ndev = ["pytest>=8", "mypy"]\n'
            "[tool.pytest.ini_options]\n",
            "src/x/a.py": "",
            "tests/test_a.py": TEST,
        },
        {"checks.test": PYTEST, "workspace.setup": f"{PIP_WITH_GROUPS} -e '.[fast]' --group dev"},
    ),
    "a group that includes another": (
        {
            "pyproject.toml": '[project]\nname = "x"\n[dependency-groups]\nbase = ["pytest"]\n'
            'ci = [{include-group = "base"}]\n',
            "src/x/a.py": "",
            "tests/test_a.py": TEST,
        },
        {"checks.test": PYTEST, "workspace.setup": f"{PIP_WITH_GROUPS} -e . --group base"},
    ),
    "tests in a group that uv leaves out": (
        {
            "uv.lock": "",
            "pyproject.toml": '[project]\nname = "x"\n[dependency-groups]\ntests = ["pytest"]\n'
            'lint = ["ruff"]\ncov = [{include-group = "tests"}, "coverage"]\n[tool.ruff]\n',
            "tests/test_a.py": TEST,
        },
        {
            "checks.test": "uv run --no-sync python -m pytest -q",
            "checks.lint": RUFF,
            "workspace.setup": "uv sync --group tests",
        },
    ),
    "groups that uv installs by default": (
        {
            "uv.lock": "",
            "pyproject.toml": '[project]\nname = "x"\n[dependency-groups]\ntests = ["pytest"]\n'
            '[tool.uv]\ndefault-groups = ["tests"]\n',
            "tests/test_a.py": TEST,
        },
        {"checks.test": "uv run --no-sync python -m pytest -q", "workspace.setup": "uv sync"},
    ),
    "uv without pytest": (
        {"uv.lock": "", "pyproject.toml": '[project]\nname = "x"\n', "tests/test_a.py": TEST},
        {"checks.test": "uv run --no-sync python -m pytest -q", "workspace.setup": "uv sync && uv pip install pytest"},
    ),
    "an optional group of poetry": (
        {
            "poetry.lock": "",
            "pyproject.toml": '[tool.poetry]\nname = "x"\n[tool.poetry.group.test]\noptional = true\n'
            '[tool.poetry.group.test.dependencies]\npytest = "^8"\n',
            "tests/test_a.py": TEST,
        },
        {
            "checks.test": "poetry run python -m pytest -q",
            "workspace.setup": "POETRY_VIRTUALENVS_IN_PROJECT=1 poetry install --with test",
        },
    ),
    "requirements that install the project": (
        {
            "requirements.txt": "-e .[cli]\npytest==8.0\ntrustme==1.2\n",
            "pyproject.toml": '[project]\nname = "x"\ndependencies = ["anyio"]\n[project.optional-dependencies]\n'
            'cli = ["click"]\n[tool.pytest.ini_options]\naddopts = "-rxXs"\n',
            "x/a.py": "",
            "tests/test_a.py": TEST,
        },
        {"checks.test": PYTEST, "workspace.setup": f"{PIP} -r requirements.txt"},
    ),
    "a folder of requirements": (
        {
            "setup.py": "from setuptools import setup\nsetup(install_requires=['six'])\n",
            "requirements/base.txt": "six\n",
            "requirements/test.txt": "-r base.txt\npytest\n",
            "requirements/docs.txt": "sphinx\n",
            "x.py": "",
            "tests/test_a.py": TEST,
        },
        {"checks.test": PYTEST, "workspace.setup": f"{PIP} -r requirements/test.txt -e ."},
    ),
    "extras in setup.py": (
        {
            "setup.py": "from setuptools import setup\nEXTRAS = {'docs': ['sphinx'], 'testing': ['pytest-cov']}\n"
            "setup(name='x', extras_require=EXTRAS)\n",
            "x.py": "",
            "tests/test_a.py": TEST,
        },
        {"checks.test": PYTEST, "workspace.setup": f"{PIP} -e '.[testing]'"},
    ),
    "what tox installs": (
        {
            "setup.cfg": "[metadata]\nname = x\n[options]\ninstall_requires =\n    cfgv\n",
            "setup.py": "from setuptools import setup\nsetup()\n",
            "tox.ini": "[tox]\nenvlist = py\n[testenv]\ndeps =\n    pytest>=7\n    py311: old\n    re-assert\n"
            "commands = pytest\n",
            "x.py": "",
            "tests/test_a.py": TEST,
        },
        {"checks.test": PYTEST, "workspace.setup": f"{PIP} -e . 'pytest>=7' re-assert"},
    ),
    "what nox installs": (
        {
            "pyproject.toml": '[project]\nname = "x"\ndependencies = ["attrs"]\n',
            "noxfile.py": "import nox\n@nox.session\ndef tests(session):\n"
            "    session.install('-e', '.', 'pytest', 'pretend')\n    session.run('pytest')\n",
            "x.py": "",
            "tests/test_a.py": TEST,
        },
        {"checks.test": PYTEST, "workspace.setup": f"{PIP} -e . pytest pretend"},
    ),
    "an environment of hatch": (
        {
            "pyproject.toml": '[project]\nname = "x"\ndependencies = ["attrs"]\n[tool.hatch.envs.default]\n'
            'dependencies = ["pytest", "trio", "{root:uri}/other"]\n',
            "x.py": "",
            "tests/test_a.py": TEST,
        },
        {"checks.test": PYTEST, "workspace.setup": f"{PIP} -e . pytest trio"},
    ),
    "plugins that the settings of pytest need": (
        {
            "pyproject.toml": '[project]\nname = "x"\ndependencies = ["attrs"]\n[tool.pytest.ini_options]\n'
            'addopts = ["--cov=x", "-n", "auto"]\n',
            "x.py": "",
            "tests/test_a.py": TEST,
        },
        {"checks.test": PYTEST, "workspace.setup": f"{PIP} -e . pytest pytest-cov pytest-xdist"},
    ),
    "tox alone": ({"tox.ini": "[tox]\n", "a.py": ""}, {"checks.test": "tox -q"}),
    "nox alone": ({"noxfile.py": "import nox\n"}, {"checks.test": "nox"}),
    "a script that only has the name": ({"test_data.py": "x = 1\n"}, {}),
    "broken settings": ({"pyproject.toml": "[tool", "test_a.py": TEST}, {"checks.test": PYTEST}),
}

NODE: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "npm": (
        {
            "package.json": package({"test": "jest", "lint": "eslint ."}, devDependencies={"eslint": "9"}),
            "package-lock.json": "{}",
        },
        {"checks.test": "npm test", "checks.lint": "npm run lint", "workspace.setup": "npm ci"},
    ),
    "npm without a lock": (
        {"package.json": package({"test": "node --test"}, dependencies={"left": "1"})},
        {"checks.test": "npm test", "workspace.setup": "npm install"},
    ),
    "npm with nothing to install": ({"package.json": package({"test": "node --test"})}, {"checks.test": "npm test"}),
    "the placeholder of npm init": (
        {"package.json": package({"test": 'echo "Error: no test specified" && exit 1'})},
        {},
    ),
    "pnpm": (
        {"package.json": package({"test": "vitest"}), "pnpm-lock.yaml": ""},
        {"checks.test": "pnpm test", "workspace.setup": "pnpm install --frozen-lockfile"},
    ),
    "yarn": (
        {"package.json": package({"test": "jest"}), "yarn.lock": ""},
        {"checks.test": "yarn test", "workspace.setup": "yarn install --frozen-lockfile"},
    ),
    "yarn, modern": (
        {"package.json": package({"test": "jest"}), "yarn.lock": "", ".yarnrc.yml": ""},
        {"checks.test": "yarn test", "workspace.setup": "yarn install --immutable"},
    ),
    "bun": (
        {"package.json": package({"test": "bun test", "lint": "x"}), "bun.lockb": ""},
        {
            "checks.test": "bun run test",
            "checks.lint": "bun run lint",
            "workspace.setup": "bun install --frozen-lockfile",
        },
    ),
    "a manager by name": (
        {"package.json": package({"test": "jest"}, packageManager="pnpm@9.1.0")},
        {"checks.test": "pnpm test"},
    ),
    "react scripts": ({"package.json": package({"test": "react-scripts test"})}, {"checks.test": "CI=true npm test"}),
    "vitest without a script": (
        {"package.json": package(devDependencies={"vitest": "1", "eslint": "9"}), "eslint.config.js": ""},
        {
            "checks.test": "npx --no-install vitest run",
            "checks.lint": "npx --no-install eslint .",
            "workspace.setup": "npm install",
        },
    ),
    "jest without a script": (
        {"package.json": package(devDependencies={"jest": "1"}), "yarn.lock": ""},
        {"checks.test": "yarn run jest", "workspace.setup": "yarn install --frozen-lockfile"},
    ),
    "biome": (
        {"package.json": package(devDependencies={"@biomejs/biome": "1"}), "biome.json": "{}", "bun.lock": ""},
        {"checks.lint": "bun x biome check .", "workspace.setup": "bun install --frozen-lockfile"},
    ),
    "a linter as the test script": (
        {
            "package.json": package(
                {"test": "npm run lint", "lint": "eslint .", "test:unit": "mocha"}, devDependencies={"eslint": "9"}
            )
        },
        {
            "checks.test": "npm run test:unit",
            "checks.lint": "npm run lint",
            "checks.extra.javascript-test": "npm test",
            "workspace.setup": "npm install",
        },
    ),
    "a linter as the only script": (
        {"package.json": package({"test": "eslint . && tsc --noEmit", "test:unit": "mocha test"})},
        {"checks.test": "npm run test:unit", "checks.lint": "npm test"},
    ),
    "scripts for unit and integration tests alone": (
        {
            "package.json": package(
                {"test:integration": "mocha it", "test:unit": "mocha unit", "test:watch": "mocha -w"}
            )
        },
        {"checks.test": "npm run test:unit", "checks.extra.javascript-test": "npm run test:integration"},
    ),
    "a script of tests for continuous integration alone": (
        {"package.json": package({"test:ci": "vitest run --coverage"})},
        {"checks.test": "npm run test:ci"},
    ),
    "other forms of the same tests": (
        {
            "package.json": package(
                {
                    "test": "vitest",
                    "test:ci": "npm test -- --run",
                    "test:unit": "vitest run src",
                    "test:coverage": "vitest --coverage",
                    "test:everything": "npm run build && npm test",
                    "build:test": "webpack",
                    "lint:test": "eslint test",
                }
            )
        },
        {"checks.test": "npm test"},
    ),
    "scripts that the test script starts": (
        {
            "package.json": package(
                {
                    "test": "run-s lint test:*",
                    "lint": "x",
                    "test:unit": "mocha",
                    "test:e2e": "mocha e2e",
                    "e2e": "npm run test:e2e",
                }
            )
        },
        {"checks.test": "npm test", "checks.lint": "npm run lint"},
    ),
    "integration tests beside the others": (
        {
            "package.json": package(
                {
                    "test": "jest src",
                    "test:int": "jest -c int.config.js",
                    "test:e2e": "playwright test",
                    "e2e:test": "wait-on x && jest",
                }
            )
        },
        {"checks.test": "npm test", "checks.extra.javascript-test": "npm run test:int"},
    ),
    "integration tests with a database": (
        {"package.json": package({"test": "jest src", "test:integration": "jest it"}, dependencies={"pg": "8"})},
        {"checks.test": "npm test", "workspace.setup": "npm install"},
    ),
    "a broken package.json": ({"package.json": "{"}, {}),
    "a strange package.json": ({"package.json": '{"scripts": [], "dependencies": 3}'}, {}),
}

RUST = {"checks.test": "cargo test", "checks.lint": "cargo clippy --all-targets -- -D warnings"}


def _pom(artifact: str, *, uses: str = "", group: str = "org.example", more: str = "") -> str:
    """A POM whose parent is not in the repository."""
    used = f"<dependency><groupId>{group}</groupId><artifactId>{uses}</artifactId></dependency>" if uses else ""
    parent = "<parent><groupId>org.example</groupId><artifactId>company</artifactId><version>1</version></parent>"
    return (
        f"<project>{parent}<artifactId>{artifact}</artifactId>{more}"
        f"<dependencies>{used}<dependency><groupId>junit</groupId><artifactId>junit</artifactId></dependency>"
        "</dependencies></project>"
    )


OTHERS: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "go": ({"go.mod": "", "a.go": ""}, {"checks.test": "go test ./...", "checks.lint": "go vet ./..."}),
    "go with build tags in its Makefile": (
        {"go.mod": "", "Makefile": "build:\n\tgo build -tags x\n\ntest: build\n\tgo test -v -tags=slow,db ./...\n"},
        {
            "checks.test": "go test -tags=slow,db ./...",
            "checks.lint": "go vet ./...",
            "checks.build": "make build",
        },
    ),
    "go with golangci": (
        {"go.mod": "", ".golangci.yml": ""},
        {"checks.test": "go test ./...", "checks.lint": "golangci-lint run"},
    ),
    "cmake": (
        {"CMakeLists.txt": "project(calc C)\nenable_testing()\nadd_test(NAME a COMMAND a)\n", "a.c": ""},
        {
            "checks.test": "ctest --test-dir build --output-on-failure --no-tests=error",
            "checks.build": "cmake -S . -B build && cmake --build build",
        },
    ),
    "cmake with files in build, and a Makefile without tests": (
        {"CMakeLists.txt": "include(CTest)\n", "build/ci.sh": "", "Makefile": "lint:\n\tclang-tidy a.c\n"},
        {
            "checks.test": "ctest --test-dir _build --output-on-failure --no-tests=error",
            "checks.lint": "make lint",
            "checks.build": "cmake -S . -B _build && cmake --build _build",
        },
    ),
    "cmake below make": (
        {"CMakeLists.txt": "enable_testing()\n", "Makefile": "test:\n\tctest\n"},
        {"checks.test": "make test"},
    ),
    "cmake without tests": ({"CMakeLists.txt": "project(calc C)\n"}, {}),
    "meson": (
        {"meson.build": "project('calc', 'c')\nsubdir('tests')\n", "tests/meson.build": "test('a', a)\n"},
        {"checks.test": "meson test -C build --print-errorlogs", "checks.build": "meson setup build"},
    ),
    "php with composer": (
        {"composer.json": '{"require-dev": {"phpunit/phpunit": "^10"}}', "phpunit.xml": ""},
        {"checks.test": "vendor/bin/phpunit", "workspace.setup": "composer install --no-interaction"},
    ),
    "php with a script": (
        {"composer.json": '{"require": {"php": ">=8"}, "scripts": {"test": "pest"}}'},
        {"checks.test": "composer test", "workspace.setup": "composer install --no-interaction"},
    ),
    "php without composer": ({"phpunit.xml.dist": ""}, {"checks.test": "phpunit"}),
    "deno": ({"deno.json": "{}", "calc_test.ts": ""}, {"checks.test": "deno test --reporter=tap"}),
    "deno with a task": (
        {"deno.jsonc": '{\n  // all tests\n  "tasks": {"test": "deno test -A"}\n}\n'},
        {"checks.test": "deno task test"},
    ),
    "rust": (
        {"Cargo.toml": "[package]\n"},
        {"checks.test": "cargo test", "checks.lint": "cargo clippy --all-targets -- -D warnings"},
    ),
    "rust workspace": (
        {"Cargo.toml": "[workspace]\n", "crates/a/Cargo.toml": "[package]\n"},
        {
            "checks.test": "cargo test --workspace",
            "checks.lint": "cargo clippy --workspace --all-targets -- -D warnings",
        },
    ),
    "rust with a crate for dependencies alone, without tests": (
        {
            "Cargo.toml": '[package]\nname = "calc"\n[dependencies]\nhalf = { path = "deps/half" }\n',
            "deps/half/Cargo.toml": '[package]\nname = "half"\n',
            "deps/half/src/lib.rs": "/// ```text\n/// half\n/// ```\npub fn half(n: i32) -> i32 { n / 2 }\n",
        },
        RUST,
    ),
    "rust with crates that cargo vendor wrote": (
        {
            "Cargo.toml": "[package]\n",
            "deps/half/Cargo.toml": '[package]\nname = "half"\n',
            "deps/half/.cargo-checksum.json": "{}",
            "deps/half/src/lib.rs": "#[test]\nfn halves() {}\n",
        },
        RUST,
    ),
    "rust with a folder in the place of a registry": (
        {
            "Cargo.toml": "[package]\n",
            ".cargo/config.toml": '[source.local]\ndirectory = "crates-io"\n',
            "crates-io/half/Cargo.toml": '[package]\nname = "half"\n',
            "crates-io/half/tests/half.rs": "",
        },
        RUST,
    ),
    "rust with a crate that has tests of its own": (
        {
            "Cargo.toml": '[package]\nname = "calc"\n[dependencies]\nhalf = { path = "half" }\n',
            "half/Cargo.toml": '[package]\nname = "half"\n',
            "half/src/lib.rs": "/// ```\n/// assert_eq!(half::half(4), 2);\n/// ```\npub fn half() {}\n",
        },
        RUST
        | {
            "checks.extra.half-test": in_folder("half", "cargo test"),
            "checks.extra.half-lint": in_folder("half", RUST["checks.lint"]),
        },
    ),
    "rust workspace with a crate that it excludes": (
        {
            "Cargo.toml": '[workspace]\nmembers = ["crates/*", "tools/kept"]\nexclude = ["tools"]\n',
            "crates/a/Cargo.toml": "[package]\n",
            "crates/a/tests/a.rs": "",
            "tools/gen/Cargo.toml": "[package]\n",
            "tools/gen/tests/gen.rs": "",
            "tools/kept/Cargo.toml": "[package]\n",
            "tools/kept/tests/kept.rs": "",
            "fuzz/Cargo.toml": '[package]\n[workspace]\nmembers = ["."]\n',
            "fuzz/fuzz_targets/a.rs": "fuzz_target!(|data: &[u8]| {});\n",
        },
        {
            "checks.test": "cargo test --workspace",
            "checks.lint": "cargo clippy --workspace --all-targets -- -D warnings",
            "checks.extra.tools-gen-test": in_folder("tools/gen", "cargo test"),
            "checks.extra.tools-gen-lint": in_folder("tools/gen", RUST["checks.lint"]),
        },
    ),
    "go with sources that make test generates": (
        {
            "go.mod": "",
            "Makefile": "BIN := x\ngenerate:\n\tgo generate ./...\nnative/lib.a: native/a.c\n\tcc -c native/a.c\n"
            "lint:\n\tvet\ntest: lint generate \\\n  native/lib.a $(BIN) deps # x\n\tgo test ./...\n.PHONY: test\n",
        },
        {
            "checks.test": "go test ./...",
            "checks.lint": "go vet ./...",
            "checks.build": "make generate native/lib.a",
        },
    ),
    "go with services that make test starts": (
        {"go.mod": "", "Makefile": "test: database\n\tgo test ./...\ndatabase:\n\tdocker compose up -d\n"},
        {"checks.test": "go test ./...", "checks.lint": "go vet ./..."},
    ),
    "cmake with tests in Python beside its own": (
        {
            "CMakeLists.txt": "project(calc C)\nenable_testing()\n",
            "tests/test_cli.py": TEST,
            "requirements.txt": "pytest\n",
        },
        {
            "checks.test": PYTEST,
            "checks.extra.cmake-test": "ctest --test-dir build --output-on-failure --no-tests=error",
            "checks.build": "cmake -S . -B build && cmake --build build",
            "workspace.setup": "python3 -m venv .venv && echo '*' > .venv/.gitignore"
            " && .venv/bin/python -m pip install -q -r requirements.txt",
        },
    ),
    "cmake that builds a Python package": (
        {"CMakeLists.txt": "find_package(pybind11)\nenable_testing()\n", "tests/test_cli.py": TEST},
        {"checks.test": PYTEST},
    ),
    "maven": ({"pom.xml": "", "core/pom.xml": ""}, {"checks.test": "mvn -q -B test"}),
    "maven with failsafe in a module": (
        {
            "pom.xml": "<module>core</module><pluginManagement>maven-failsafe-plugin</pluginManagement>",
            "core/pom.xml": "<plugins><plugin><artifactId>maven-failsafe-plugin</artifactId></plugin></plugins>",
        },
        {"checks.test": "mvn -q -B verify"},
    ),
    "maven with failsafe in a profile, and with containers": (
        {
            "pom.xml": "<profiles><profile>maven-failsafe-plugin</profile></profiles><!-- maven-failsafe-plugin -->",
            "other/pom.xml": "<artifactId>o</artifactId><build>maven-failsafe-plugin</build><!-- x -->testcontainers",
            "other/src/test/java/a/AIT.java": "",
        },
        {"checks.test": "mvn -q -B test", "checks.extra.other-test": in_folder("other", "mvn -q -B test")},
    ),
    "gradle with further test tasks": (
        {
            "build.gradle": "testing { suites { integrationTest(JvmTestSuite) {} } }\ntask apiTest(type: Test) {}\n",
            "gradle/tests.gradle": "tasks.register('contractTest', Test) {}\ntasks.register('slowTest', Test) {}\n",
            "app/build.gradle.kts": 'val itest by tasks.registering(Test::class) {}\nregister<Test>("e2eTest") {}\n',
            "other/settings.gradle": "",
            "other/build.gradle": "task foreignTest(type: Test) {}\n",
        },
        {"checks.test": "gradle test apiTest contractTest e2eTest integrationTest itest"},
    ),
    "gradle with containers": (
        {"build.gradle": "task itest(type: Test) {}\ndependencies { testImplementation 'org.testcontainers:junit' }\n"},
        {"checks.test": "gradle test"},
    ),
    "rust with all features in its workflow": (
        {
            "Cargo.toml": "[package]\n[features]\nsums = []\n",
            "src/lib.rs": '#[cfg(all(test, feature = "sums"))]\nmod tests {}\n',
            ".github/workflows/ci.yml": "      - run: cargo +stable test --locked --all-features\n",
        },
        RUST | {"checks.extra.rust-test": "cargo test --all-features"},
    ),
    "rust with features": (
        {
            "Cargo.toml": '[package]\n[features]\ndefault = ["std"]\nstd = ["alloc"]\nalloc = []\nsums = []\n',
            "src/lib.rs": '#[cfg(feature = "alloc")]\nuse x;\n#[cfg(feature = "sums")]\n#[test]\nfn adds() {}\n',
        },
        RUST,
    ),
    "rust with features that tests do not need": (
        {"Cargo.toml": "[package]\n[features]\nsums = []\n", "src/lib.rs": "#[test]\nfn adds() {}\n"},
        RUST,
    ),
    "go with build tags of tests": (
        {
            "go.mod": "",
            "a_test.go": "//go:build linux && !race\n\npackage a\n",
            "b_test.go": "// +build integration\n\npackage a\n",
        },
        {"checks.test": "go test ./...", "checks.lint": "go vet ./..."},
    ),
    "php with a default suite": (
        {"phpunit.xml": '<phpunit defaultTestSuite="unit"><testsuite name="unit"/><testsuite name="api"/></phpunit>'},
        {"checks.test": "phpunit"},
    ),
    "cmake with an option for tests": (
        {"CMakeLists.txt": 'option(CALC_TESTS "Build tests" OFF)\nif(CALC_TESTS)\n  enable_testing()\nendif()\n'},
        {
            "checks.test": "ctest --test-dir build --output-on-failure --no-tests=error",
            "checks.build": "cmake -S . -B build -DCALC_TESTS=ON && cmake --build build",
        },
    ),
    "ruby with test and spec": (
        {"Rakefile": "Rake::TestTask.new\n", "test/a_test.rb": "", "spec/a_spec.rb": ""},
        {"checks.test": "rspec", "checks.extra.ruby-test": "rake test"},
    ),
    "ruby with helpers of specs in test": (
        {"Rakefile": "RSpec::Core::RakeTask.new\n", "test/data.rb": "", "spec/a_spec.rb": ""},
        {"checks.test": "rspec"},
    ),
    "ruby without a task for its tests": (
        {"Gemfile": "", "test/unit/test_a.rb": ""},
        {
            "checks.test": "bundle exec ruby -Ilib -Itest -e"
            """ 'Dir["./test/**/{test_*,*_test}.rb"].sort.each { |file| require file }'""",
            "workspace.setup": "bundle install",
        },
    ),
    "php with further scripts": (
        {
            "composer.json": '{"scripts": {"test": ["@phpcs", "@test:unit"], "phpcs": "phpcs", "test:unit": "phpunit'
            ' --testsuite unit", "test:integration": "phpunit --testsuite integration"}}'
        },
        {"checks.test": "composer test", "checks.extra.php-test": "composer test:integration"},
    ),
    "go with a script of tests below make": (
        {"go.mod": "", "Makefile": "test: unit cli\nunit:\n\tgo test ./...\ncli: build\n\t@bats test/\nbuild:\n"},
        {"checks.test": "go test ./...", "checks.extra.go-test": "bats test/", "checks.lint": "go vet ./..."},
    ),
    "go with a script of tests below make that needs containers": (
        {"go.mod": "", "Makefile": "test:\n\tdocker compose up -d\n\tgo test ./...\n\t./tests/cli.sh\n"},
        {"checks.test": "go test ./...", "checks.lint": "go vet ./..."},
    ),
    "maven wrapper": ({"pom.xml": "", "mvnw": ""}, {"checks.test": "./mvnw -q -B test"}),
    "gradle": ({"build.gradle.kts": "", "gradlew": "", "app/build.gradle.kts": ""}, {"checks.test": "./gradlew test"}),
    "gradle with settings alone at the root": (
        {"settings.gradle.kts": "", "gradlew": "", "app/build.gradle.kts": "", "lib/build.gradle.kts": ""},
        {"checks.test": "./gradlew test"},
    ),
    "gradle of the machine": ({"settings.gradle": ""}, {"checks.test": "gradle test"}),
    "rspec": (
        {"Gemfile": "gem 'rubocop'\n", ".rspec": "", ".rubocop.yml": ""},
        {"checks.test": "bundle exec rspec", "checks.lint": "bundle exec rubocop", "workspace.setup": "bundle install"},
    ),
    "rspec without a Gemfile": ({"Rakefile": "", "spec/a_spec.rb": ""}, {"checks.test": "rspec"}),
    "rake": (
        {"Gemfile": "", "Rakefile": "", "test/a_test.rb": ""},
        {"checks.test": "bundle exec rake test", "workspace.setup": "bundle install"},
    ),
    "make": (
        {"Makefile": "CC := gcc\n.PHONY: test\nlint:\n\tx\ntest: all\n\ty\nall:\n"},
        {"checks.test": "make test", "checks.lint": "make lint"},
    ),
    "make check": ({"Makefile": "check:\n\ty\n"}, {"checks.test": "make check"}),
    "make without tests": ({"Makefile": "test := 1\nlint ::= 3\nall:\n"}, {}),
    "make where the language is silent": (
        {"Makefile": "test:\n\tgo test ./...\nlint:\n\ty\n", "go.mod": "", "a.go": ""},
        {"checks.test": "go test ./...", "checks.lint": "go vet ./..."},
    ),
    "make gives a linter to a language without": (
        {"Makefile": "test:\n\tpytest\nlint:\n\ty\n", "test_a.py": TEST},
        {"checks.test": PYTEST, "checks.lint": "make lint"},
    ),
    "nothing": ({"README.md": "", "data.csv": ""}, {}),
    "empty": ({}, {}),
}

MONO: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "npm workspace whose own tests leave out those of a package": (
        {
            "package.json": package({"test": "node --test test/*.js packages/b"}, workspaces=["packages/*"]),
            "packages/a/package.json": package({"test": "node --test"}),
            "packages/b/package.json": package({"test": "node --test"}),
        },
        {
            "checks.test": "npm test",
            "checks.extra.packages-a-test": in_folder("packages/a", "npm test"),
            "workspace.setup": "npm install",
        },
    ),
    "npm workspace with mocha, which runs the tests of the root": (
        {
            "package.json": package({"test": "nyc mocha"}, workspaces=["packages/*"]),
            "packages/a/package.json": package({"test": "mocha"}),
        },
        {
            "checks.test": "npm test",
            "checks.extra.packages-a-test": in_folder("packages/a", "npm test"),
            "workspace.setup": "npm install",
        },
    ),
    "npm workspace whose runner finds the tests of the packages": (
        {
            "package.json": package({"test": "node --test"}, workspaces=["packages/*"]),
            "packages/a/package.json": package({"test": "node --test"}),
        },
        {"checks.test": "npm test", "workspace.setup": "npm install"},
    ),
    "Maven projects that use others of the repository": (
        {
            "base/pom.xml": _pom("base"),
            "base/src/test/java/BaseTest.java": "",
            "calc/pom.xml": _pom("calc", uses="base", group="${project.groupId}"),
            "app/pom.xml": _pom("app", uses="calc"),
            "app/src/test/java/AppTest.java": "",
            "site/pom.xml": _pom("site"),
        },
        {
            "checks.test": in_folder(
                "app",
                "mvn -q -B -f ../base/pom.xml install -DskipTests && mvn -q -B -f ../calc/pom.xml install -DskipTests"
                " && mvn -q -B test",
            ),
            "checks.extra.base-test": in_folder("base", "mvn -q -B test"),
            "checks.extra.site-test": in_folder("site", "mvn -q -B test"),
        },
    ),
    "Maven and Gradle projects below another one, which does not test them": (
        {
            "pom.xml": _pom("root", more="<modules><module>core</module><!-- <module>tools/gen</module> --></modules>"),
            "core/pom.xml": _pom("core", more="<modules><module>inner</module></modules>"),
            "core/inner/pom.xml": _pom("inner"),
            "core/inner/src/test/java/InnerTest.java": "",
            "tools/gen/pom.xml": _pom("gen", uses="inner"),
            "tools/gen/src/test/java/GenTest.java": "",
            "tools/old/pom.xml": _pom("old"),
            "src/it/first/pom.xml": _pom("first"),
            "src/it/first/src/test/java/FirstTest.java": "",
            "android/settings.gradle": "",
            "android/app/build.gradle": "",
            "android/app/src/test/java/AppTest.java": "",
        },
        {
            "checks.test": "mvn -q -B test",
            "checks.extra.android-test": in_folder("android", "gradle test"),
            "checks.extra.tools-gen-test": in_folder(
                "tools/gen", "mvn -q -B -f ../../pom.xml install -DskipTests && mvn -q -B test"
            ),
        },
    ),
    "npm workspace with integration tests in a package": (
        {
            "package.json": package({"test": "npm test --workspaces"}, workspaces=["packages/*"]),
            "packages/a/package.json": package({"test": "node --test", "test:integration": "node --test it/"}),
        },
        {
            "checks.test": "npm test",
            "checks.extra.packages-a-test": in_folder("packages/a", "npm run test:integration"),
            "workspace.setup": "npm install",
        },
    ),
    "parts with names of fixtures beside others": (
        {
            "packages/a/package.json": package({"test": "jest"}),
            "packages/test-utils/package.json": package({"test": "jest"}),
            "packages/docs/package.json": package({"test": "jest"}),
            "packages/examples/package.json": package({"test": "jest"}),
        },
        {
            "checks.test": in_folder("packages/a", "npm test"),
            "checks.extra.packages-docs-test": in_folder("packages/docs", "npm test"),
            "checks.extra.packages-test-utils-test": in_folder("packages/test-utils", "npm test"),
        },
    ),
    "packages that a requirements file of the root installs together": (
        {
            "requirements.txt": "pytest\n-e ./core\n-e app[test]  # this one\n",
            "core/pyproject.toml": '[project]\nname = "core"\n',
            "core/src/core/__init__.py": "",
            "app/pyproject.toml": '[project]\nname = "app"\n[project.optional-dependencies]\ntest = ["pytest"]\n',
            "app/src/app/__init__.py": "",
            "app/tests/test_app.py": TEST,
        },
        {
            "checks.test": in_folder("app", (".venv/bin/python", "-m", "pytest", "-q")),
            "workspace.setup": "cd app && python3 -m venv .venv && echo '*' > .venv/.gitignore"
            " && .venv/bin/python -m pip install -q -e '.[test]' -e ../core",
        },
    ),
    "npm workspace without other dependencies": (
        {
            "package.json": '{"private": true, "workspaces": ["packages/*"]}',
            "packages/a/package.json": package({"test": "node --test"}),
        },
        {"checks.test": in_folder("packages/a", "npm test"), "workspace.setup": "npm install"},
    ),
    "uv workspace": (
        {
            "uv.lock": "",
            "pyproject.toml": '[project]\nname = "app"\ndependencies = ["shapes"]\n'
            '[dependency-groups]\ndev = ["pytest"]\n'
            '[tool.uv.workspace]\nmembers = ["packages/*"]\nexclude = ["packages/old"]\n',
            "tests/test_app.py": TEST,
            "packages/shapes/pyproject.toml": '[project]\nname = "shapes"\ndependencies = ["rich"]\n',
            "packages/shapes/tests/test_shapes.py": TEST,
            "packages/lines/pyproject.toml": '[project]\nname = "lines"\n[dependency-groups]\ntest = ["pytest"]\n'
            '[project.optional-dependencies]\nfast = ["numpy"]\n',
            "packages/lines/tests/test_lines.py": TEST,
            "packages/old/pyproject.toml": '[project]\nname = "old"\ndependencies = ["rich"]\n',
            "packages/old/tests/test_old.py": TEST,
        },
        {
            "checks.test": UV_PYTEST,
            "checks.extra.packages-lines-test": in_folder("packages/lines", UV_PYTEST),
            "checks.extra.packages-old-test": in_folder("packages/old", (".venv/bin/python", "-m", "pytest", "-q")),
            "checks.extra.packages-shapes-test": in_folder("packages/shapes", UV_PYTEST),
            "workspace.setup": "uv sync --all-packages --all-extras --group test"
            f" && (cd packages/old && {PIP} -e . pytest)",
        },
    ),
    "uv workspace without a project at its root, in a folder": (
        {
            "web/package.json": package({"test": "jest"}),
            "api/pyproject.toml": '[tool.uv.workspace]\nmembers = ["core"]\n',
            "api/core/pyproject.toml": '[project]\nname = "core"\ndependencies = ["rich"]\n',
            "api/core/tests/test_core.py": TEST,
        },
        {
            "checks.test": in_folder("api/core", UV_PYTEST),
            "checks.extra.web-test": in_folder("web", "npm test"),
            "workspace.setup": "cd api && uv sync --all-packages && uv pip install pytest",
        },
    ),
    "front and back": (
        {
            "api/pyproject.toml": "[tool.ruff]\n",
            "api/app.py": "",
            "api/tests/test_a.py": TEST,
            "web/package.json": package({"test": "jest", "lint": "eslint"}, devDependencies={"eslint": "9"}),
            "web/package-lock.json": "",
            "web/a.ts": "",
            "web/b.ts": "",
            "web/c.ts": "",
        },
        {
            "checks.test": in_folder("web", "npm test"),
            "checks.extra.api-test": in_folder("api", PYTEST),
            "checks.lint": in_folder("web", "npm run lint"),
            "checks.extra.api-lint": in_folder("api", RUFF),
            "workspace.setup": "cd web && npm ci",
        },
    ),
    "two set-ups": (
        {
            "uv.lock": "",
            "pyproject.toml": "[dependency-groups]\ndev = ['pytest']\n",
            "test_a.py": TEST,
            "my web/package.json": package({"test": "jest"}),
            "my web/yarn.lock": "",
        },
        {
            "checks.test": "uv run --no-sync python -m pytest -q",
            "checks.extra.my-web-test": in_folder("my web", "yarn test"),
            "workspace.setup": "uv sync && (cd 'my web' && yarn install --frozen-lockfile)",
        },
    ),
    "two languages at the root": (
        {
            "pyproject.toml": "[tool.pytest.ini_options]\n",
            "a.py": "",
            "b.py": "",
            "package.json": package({"test": "x"}),
        },
        {"checks.test": PYTEST, "checks.extra.javascript-test": "npm test"},
    ),
    "make is left out where the parts speak for themselves": (
        {"Makefile": "test:\n\tcd web && npm test\nlint:\n\ty\n", "web/package.json": package({"test": "jest"})},
        {"checks.test": in_folder("web", "npm test"), "checks.lint": "make lint"},
    ),
    "workspaces speak for their packages": (
        {
            "package.json": package({"test": "turbo test"}, workspaces=["packages/*"]),
            "package-lock.json": "",
            "packages/a/package.json": package({"test": "jest"}),
        },
        {"checks.test": "npm test", "workspace.setup": "npm ci"},
    ),
    "go modules stand alone": (
        {"go.mod": "", "a.go": "", "tool/go.mod": "", "tool/b.go": ""},
        {
            "checks.test": "go test ./...",
            "checks.extra.tool-test": in_folder("tool", "go test ./..."),
            "checks.lint": "go vet ./...",
            "checks.extra.tool-lint": in_folder("tool", "go vet ./..."),
        },
    ),
    "requirements make a project where nothing else does": (
        {"svc/requirements.txt": "pytest\n", "svc/test_a.py": TEST, "go.mod": ""},
        {
            "checks.test": "go test ./...",
            "checks.extra.svc-test": in_folder("svc", (".venv/bin/python", *PYTEST[1:])),
            "checks.lint": "go vet ./...",
            "workspace.setup": f"cd svc && {PIP} -r requirements.txt",
        },
    ),
    "examples and fixtures are no part of it": (
        {
            "go.mod": "",
            "examples/web/package.json": package({"test": "jest"}),
            "tests/fixtures/pyproject.toml": "[tool.pytest.ini_options]\n",
            "tests/fixtures/a.py": "",
        },
        {"checks.test": "go test ./...", "checks.lint": "go vet ./..."},
    ),
    "resources of the tests are no part of it": (
        {
            "go.mod": "",
            "testing/resources/hooks_repo/setup.py": "from setuptools import setup\nsetup()\n",
            "testing/resources/hooks_repo/tests/test_a.py": TEST,
            "src/test-data/app/package.json": package({"test": "jest"}),
            "{{cookiecutter.name}}/pyproject.toml": "[tool.pytest.ini_options]\n",
            "{{cookiecutter.name}}/a.py": "",
        },
        {"checks.test": "go test ./...", "checks.lint": "go vet ./..."},
    ),
    "a part without checks needs no set-up": (
        {
            "go.mod": "",
            "backend/pyproject.toml": '[project]\nname = "x"\ndependencies = ["attrs"]\n',
            "backend/src/x/a.py": "",
        },
        {"checks.test": "go test ./...", "checks.lint": "go vet ./..."},
    ),
}
