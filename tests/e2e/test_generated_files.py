"""What set-up compiles or generates from the sources belongs to those sources: a change is tested with its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from testing.bubblewrap import needs_bubblewrap
from testing.lab import Lab
from tests.e2e.test_trees_under_test import GOOD, make_lab, run, set_up

READS = "from pathlib import Path\n\n\ndef test_built():\n    assert 'a + b' in Path('{}').read_text()\n"
IGNORES = {".gitignore": ".venv\n__pycache__\n_version.py\ndist\n"}
# A package that is tested as it was built by `prepare`, which `npm ci` runs.
BUILT_BY_INSTALL = {
    **IGNORES,
    "package.json": '{"scripts": {"prepare": "npm run build", "build": "tsc"}}',
    "src/add.ts": "export const add = (a, b) => a + b\n",
    "tests/test_built.py": READS.format("dist/add.js"),
}
# A Python package with an extension in C.
COMPILED = {
    **IGNORES,
    "setup.py": "from setuptools import Extension, setup\nsetup(ext_modules=[Extension('fast', ['src/fast.c'])])\n",
    "src/fast.c": "int add(int a, int b) { return a + b; }\n",
    "tests/test_built.py": READS.format(".venv/fast.so"),
}
# The same, with code in a file that a source includes, and with code in the Python file that cffi compiles.
INCLUDING = {
    **COMPILED,
    "src/fast.c": '#include "sums.def"\nint add(int a, int b) { return SUM; }\n',
    "src/sums.def": '#include "deep/sum.table"\n',
    "src/deep/sum.table": "#define SUM a + b\n",
}
# A header that a script of the project generates.
BY_SCRIPT = {
    **COMPILED,
    "setup.py": f"subprocess.run([sys.executable, 'tools/gen.py'])\n{COMPILED['setup.py']}",
    "src/fast.c": '#include "sum.h"\nint add(int a, int b) { return SUM; }\n',
    "tools/gen.py": "print('#define SUM a + b')\n",
}
BY_CFFI = {
    ".gitignore": f"{IGNORES['.gitignore']}*.so\n",
    "setup.py": "from setuptools import setup\nsetup(cffi_modules=['build_fast.py:ffi'])\n",
    "build_fast.py": "ffi.set_source('fast', '#include \"fast.h\"\\nint add(int a, int b) { return a + b; }')\n",
    "fast.h": "int add(int a, int b);\n",
    "tests/test_built.py": READS.format("fast.abi3.so"),
}
COMPILES = {
    "src/add.ts": "mkdir -p dist && cp src/add.ts dist/add.js",
    "src/fast.c": "cp src/fast.c .venv/fast.so",
    # does not name the file: it would be an input for that reason
    "src/deep/sum.table": "cat src/*.c src/*.def src/deep/* > .venv/fast.so",
    "tools/gen.py": "cat tools/*.py src/*.c > .venv/fast.so",
    "build_fast.py": "cp build_*.py fast.abi3.so",
}


# What set-up makes of the file that the author breaks: a module, a program, a test that is built as well.
GENERATED = {
    "module": ("grammar.in", "cp grammar.in src/calc/parser.py", "src/calc/parser.py"),
    "program": ("main.c", "mkdir -p bin && cp main.c bin/calc", "bin/calc"),
    "text": ("words/all.txt", "mkdir -p dist && cp words/all.txt dist/words.json", "dist/words.json"),
    "test": ("test/cases.ts", "mkdir -p dist && cp test/cases.ts dist/cases.js", "dist/cases.js"),
    "guide": ("content/guide.md", "mkdir -p dist && cp content/guide.md dist/guide.html", "dist/guide.html"),
}


def break_file(name: str) -> str:
    return f'src = pathlib.Path("{name}"); src.write_text(src.read_text().replace("a + b", "a - b"))\n'


@pytest.fixture(params=["confined", "unconfined"])
def confined(request: pytest.FixtureRequest) -> bool:
    if request.param == "confined":
        needs_bubblewrap()
    return bool(request.param == "confined")


def make(root: Path, *, confined: bool, files: dict[str, str], compile_words: str) -> Lab:
    lab = make_lab(root, confined=confined, files=files)
    lab.settle(set_up(lab, f'{compile_words} && echo "set up" >&2'))
    return lab


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    ("files", "source"),
    [
        pytest.param(BUILT_BY_INSTALL, "src/add.ts", id="prepare"),
        pytest.param(COMPILED, "src/fast.c", id="extension"),
        pytest.param(INCLUDING, "src/deep/sum.table", id="included"),
        pytest.param(BY_SCRIPT, "tools/gen.py", id="generated"),
        pytest.param(BY_CFFI, "build_fast.py", id="cffi"),
    ],
)
def test_a_bug_in_a_source_that_set_up_compiles_is_found(
    tmp_path: Path, confined: bool, files: dict[str, str], source: str
) -> None:
    lab = make(tmp_path, confined=confined, files=files, compile_words=COMPILES[source])
    lab.agent("robot", break_file(source))
    assert run(lab) == "blocked"
    (check,) = lab.show()["cycles"][0]["checks"]
    assert check["new"] == ["tests/test_built.py::test_built"]


@pytest.mark.long
@pytest.mark.parametrize("kind", GENERATED)
def test_a_change_is_tested_with_what_set_up_makes_of_it(tmp_path: Path, kind: str) -> None:
    source, command, output = GENERATED[kind]
    ignored = {".gitignore": f"{IGNORES['.gitignore']}parser.py\nbin\n"}
    files = {**ignored, source: "a + b\n", "tests/test_built.py": READS.format(output)}
    lab = make(tmp_path, confined=False, files=files, compile_words=command)
    lab.agent("robot", break_file(source))
    assert run(lab) == "blocked"
    (check,) = lab.show()["cycles"][0]["checks"]
    assert check["new"] == ["tests/test_built.py::test_built"]


@pytest.mark.long
def test_a_package_that_was_copied_into_node_modules_is_that_of_the_change(tmp_path: Path, confined: bool) -> None:
    files = {
        ".gitignore": f"{IGNORES['.gitignore']}node_modules\n",
        "app/package.json": '{"name": "app", "dependencies": {"lib": "file:../lib"}}',
        "lib/package.json": '{"name": "lib"}',
        "lib/index.js": "exports.add = (a, b) => a + b\n",
        "tests/test_built.py": READS.format("app/node_modules/lib/index.js"),
    }
    # as yarn 1 does it, and npm with install-links
    words = "mkdir -p app/node_modules && cp -r lib app/node_modules/"
    lab = make(tmp_path, confined=confined, files=files, compile_words=words)
    lab.agent("robot", break_file("lib/index.js"))
    assert run(lab) == "blocked"


@pytest.mark.long
@pytest.mark.parametrize("place", ["node_modules/.prisma/client", "node_modules/@calc/client"])
def test_what_an_install_script_generates_in_node_modules_is_that_of_the_change(
    tmp_path: Path, confined: bool, place: str
) -> None:
    files = {
        ".gitignore": f"{IGNORES['.gitignore']}node_modules\n",
        "package.json": '{"name": "app", "scripts": {"postinstall": "prisma generate"}}',
        "schema.prisma": "a + b\n",
        "tests/test_built.py": READS.format(f"{place}/index.js"),
    }
    lab = make(
        tmp_path,
        confined=confined,
        files=files,
        compile_words=f"mkdir -p {place} && cp schema.prisma {place}/index.js",
    )
    lab.agent("robot", break_file("schema.prisma"))
    assert run(lab) == "blocked"


@pytest.mark.slow
@pytest.mark.parametrize("folder", [".cache", ".tmp", ".vite"])
def test_a_cache_in_node_modules_of_the_checkout_does_not_say_that_a_change_is_built(
    tmp_path: Path, folder: str
) -> None:
    needs_bubblewrap()
    # as `tsc -b` does it with a tsBuildInfoFile there: what is up to date is not built, so its tests do not run
    test = f"[ -e node_modules/{folder}/info ] || (touch node_modules/{folder}-new && grep -q 'a + b' calc.ts)\n"
    files = {
        ".gitignore": "node_modules\n",
        "package.json": '{"name": "calc"}',
        "calc.ts": "export const add = (a, b) => a + b\n",
        "test.sh": test,
    }
    lab = make_lab(tmp_path, confined=True, files=files)
    lab.settle("checks: {test: sh test.sh, lint: null}\nreview: {agents: [judge], max_cycles: 1}\n")
    cache = lab.repo.path / "node_modules" / folder
    cache.mkdir(parents=True)
    (cache / "info").touch()
    lab.agent("robot", break_file("calc.ts"))
    assert run(lab) == "blocked"
    assert (cache / "info").exists()


@pytest.mark.long
def test_a_copy_of_the_project_in_an_environment_of_tox_is_that_of_the_change(tmp_path: Path) -> None:
    packages = ".tox/py/lib/python3.11/site-packages"
    test = READS.format(f"{packages}/calc.py")
    files = {".gitignore": f"{IGNORES['.gitignore']}.tox\n", "calc.in": "a + b\n", "tests/test_built.py": test}
    # as `tox run --notest` installs it, for `tox run --skip-pkg-install`
    record = f"{packages}/calc-1.dist-info/direct_url.json"
    words = f"mkdir -p {packages}/calc-1.dist-info && cp calc.in {packages}/calc.py && cp origin.json {record}"
    files["origin.json"] = '{"archive_info": {}, "url": "file:///calc/.tox/.pkg/dist/calc-1.tar.gz"}'
    lab = make(tmp_path, confined=False, files=files, compile_words=words)
    lab.agent("robot", break_file("calc.in"))
    assert run(lab) == "blocked"


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("go"), reason="needs Go")
def test_a_module_of_the_repository_that_go_vendored_is_that_of_the_change(tmp_path: Path, confined: bool) -> None:
    files = {
        ".gitignore": ".venv\nvendor\n",
        "go.mod": "module example.com/app\n\ngo 1.19\n\nrequire example.com/lib v0.0.0\n\n"
        "replace example.com/lib => ./lib\n",
        "lib/go.mod": "module example.com/lib\n\ngo 1.19\n",
        "lib/lib.go": "package lib\n\nfunc Add(a, b int) int { return a + b }\n",
        "app.go": 'package app\n\nimport "example.com/lib"\n\nfunc Sum(a, b int) int { return lib.Add(a, b) }\n',
        "app_test.go": 'package app\n\nimport "testing"\n\nfunc TestSum(t *testing.T) {\n'
        '\tif Sum(1, 2) != 3 {\n\t\tt.Fatal("sum")\n\t}\n}\n',
    }
    checks = "checks: {test: go test ./..., lint: null}\nworkspace: {setup: go mod vendor}\n"
    lab = make_lab(tmp_path, confined=confined, files=files)
    lab.settle(f"{checks}review: {{agents: [judge], max_cycles: 1}}\n")
    lab.agent("robot", break_file("lib/lib.go"))
    assert run(lab) == "blocked"
    (check,) = lab.show()["cycles"][0]["checks"]
    assert check["new_count"] == 1


@pytest.mark.long
def test_a_package_of_the_repository_that_composer_copied_is_that_of_the_change(tmp_path: Path) -> None:
    """As composer does it for a repository `{"type": "path", "options": {"symlink": false}}`."""
    files = {
        ".gitignore": f"{IGNORES['.gitignore']}vendor\n",
        "composer.json": '{"require": {"x/lib": "*"}, "repositories": [{"type": "path", "url": "lib"}]}',
        "installed": '{"packages": [{"name": "x/lib", "dist": {"type": "path", "url": "lib"}}], "dev": true}',
        "lib/composer.json": '{"name": "x/lib"}',
        "lib/Calc.php": "<?php function add($a, $b) { return a + b; }\n",
        "tests/test_built.py": READS.format("vendor/x/lib/Calc.php"),
    }
    words = "mkdir -p vendor/composer vendor/x && cp installed vendor/composer/installed.json && cp -r lib vendor/x"
    lab = make(tmp_path, confined=False, files=files, compile_words=words)
    lab.agent("robot", break_file("lib/Calc.php"))
    assert run(lab) == "blocked"


@pytest.mark.long
def test_a_patch_of_a_package_is_an_input_of_the_environment(tmp_path: Path) -> None:
    files = {
        ".gitignore": f"{IGNORES['.gitignore']}node_modules\n",
        "package.json": '{"name": "app", "scripts": {"postinstall": "patch-package"}}',
        "patches/lib+1.0.0.patch": "a + b\n",
        "tests/test_built.py": READS.format("node_modules/lib/index.js"),
    }
    install = "mkdir -p node_modules/lib && touch node_modules/lib/package.json"
    words = f"{install} && cp patches/lib+1.0.0.patch node_modules/lib/index.js"
    lab = make(tmp_path, confined=False, files=files, compile_words=words)
    lab.agent("robot", break_file("patches/lib+1.0.0.patch"))
    assert run(lab) == "blocked"


@pytest.mark.long
def test_a_file_that_set_up_names_is_an_input_of_the_environment(tmp_path: Path) -> None:
    test = "from pathlib import Path\n\n\ndef test_installed():\n    assert Path('.venv/some').exists()\n"
    script = "while read name; do touch .venv/$name; done < tools/deps.txt\n"
    files = {**IGNORES, "tools/install.sh": script, "tools/deps.txt": "some\n", "tests/test_installed.py": test}
    lab = make(tmp_path, confined=False, files=files, compile_words="sh tools/install.sh tools/deps.txt")
    lab.agent("robot", 'pathlib.Path("tools/deps.txt").write_text("other\\n")\n')
    assert run(lab) == "blocked"


@pytest.mark.long
def test_a_change_to_other_files_of_a_compiled_package_installs_nothing(tmp_path: Path) -> None:
    words = f"{COMPILES['src/fast.c']} && cp src/fast.c src/calc/fast.so && echo fast.so > src/calc/.gitignore"
    lab = make(tmp_path, confined=False, files=COMPILED, compile_words=words)
    lab.agent("robot", GOOD)
    lab.add()
    assert lab.burnish("run", "1").err.count("Setting up the environment") == 1
    assert lab.task()["status"] == "verified"


@pytest.mark.long
def test_an_author_whose_change_does_not_compile_is_asked_to_correct_it(tmp_path: Path) -> None:
    words = f"grep -q return src/fast.c && {COMPILES['src/fast.c']}"
    lab = make(tmp_path, confined=False, files=COMPILED, compile_words=words)
    lab.settle(lab.extra.replace("max_cycles: 1", "max_cycles: 2"))
    repair = 'src.write_text("int add(int a, int b) { return a + b; }\\n")'
    lab.agent(
        "robot",
        'src = pathlib.Path("src/fast.c")\n'
        f'if phase == "implement":\n    src.write_text("int add(int a")\nelse:\n    {repair}\n'
        'pathlib.Path("src/more.c").write_text("// more\\n")\n',
    )
    assert run(lab) == "verified"
    assert [call["phase"] for call in lab.calls()] == ["implement", "improve", "review"]


@pytest.mark.long
def test_output_of_an_install_script_is_there_although_the_packages_of_the_checkout_are_up_to_date(
    tmp_path: Path,
) -> None:
    needs_bubblewrap()
    lock = '{"lockfileVersion": 3, "packages": {}}'
    lab = make_lab(tmp_path, confined=True, files={**BUILT_BY_INSTALL, "package-lock.json": lock})
    (lab.repo.path / "node_modules").mkdir()
    (lab.repo.path / "node_modules" / ".package-lock.json").write_text(lock)
    (lab.repo.path / ".git" / "info" / "exclude").write_text("node_modules\n")
    lab.settle(set_up(lab, COMPILES["src/add.ts"]))
    lab.agent("robot", break_file("src/add.ts"))
    assert run(lab) == "blocked"
    (check,) = lab.show()["cycles"][0]["checks"]
    assert (check["new"], check["old"]) == (["tests/test_built.py::test_built"], [])
