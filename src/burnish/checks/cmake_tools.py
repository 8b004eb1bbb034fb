"""Finds the tests of CMake and Meson projects: a build folder below the tree, and ctest or `meson test` in it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

from burnish.checks.tools import MAX_OPENED, ProjectFolder, ToolChoice, Tools
from burnish.checks.unrun_tests import unrun_cmake_tests, unrun_meson_tests


def cmake_tools(place: ProjectFolder) -> Tools | None:
    """A build folder below the tree, and ctest in each folder that declares tests: above it, ctest finds none."""
    if "CMakeLists.txt" not in place.names:
        return None
    texts = _cmake_texts(place)
    text = "\n".join(texts.values())
    if not (testing_folders := _testing_folders(texts)):
        return None
    folder = _build_folder(place)
    # An option for tests that is off by default.
    options = [
        name
        for name, what in re.findall(r"^\s*option\s*\(\s*(\w+)\s+\"([^\"]*)\"\s+OFF", text, re.M | re.I)
        if re.search(r"TEST", name, re.I) or re.search(r"\btests?\b", what, re.I)
    ]
    switches = "".join(f" -D{name}=ON" for name in options)
    build = ToolChoice(f"cmake -S . -B {folder}{switches} && cmake --build {folder}", "CMakeLists.txt")
    tests = [
        ToolChoice(
            f"ctest --test-dir {posixpath.normpath(posixpath.join(folder, one))} --output-on-failure --no-tests=error",
            f"tests in {posixpath.join(one, 'CMakeLists.txt')}",
        )
        for one in testing_folders
    ]
    unrun = unrun_cmake_tests(place)
    return Tools(place.folder, "CMake", tests[0], build=build, more_tests=tuple(tests[1:]), unrun_tests=unrun)


_DECLARES_TESTS = re.compile(r"^\s*(?:enable_testing\s*\(|include\s*\(\s*CTest\b)", re.M | re.I)


def _cmake_texts(place: ProjectFolder) -> dict[str, str]:
    """The CMake files by the folder of the build that they describe, from the root on."""
    texts, pending = dict[str, str](), [""]
    while pending and len(texts) < MAX_OPENED:
        folder = pending.pop(0)
        text = place.read(posixpath.join(folder, "CMakeLists.txt"))
        for name in re.findall(r"^\s*include\s*\(\s*\"?([\w./${}-]+\.cmake)", text, re.M | re.I):
            path = re.sub(r"\$\{\w*SOURCE_DIR\}/?", "", name)
            text += "\n" + place.read(
                posixpath.join(folder, path) if posixpath.join(folder, path) in place.paths else path
            )
        texts[folder] = text
        names = re.findall(r"^\s*add_subdirectory\s*\(\s*\"?([\w./-]+)", text, re.M | re.I)
        folders = [_normal(posixpath.join(folder, name)) for name in names]
        pending += [one for one in folders if one not in texts and posixpath.join(one, "CMakeLists.txt") in place.paths]
    return texts


def _testing_folders(texts: Mapping[str, str]) -> list[str]:
    """The folders that declare tests, without those below another one."""
    found: list[str] = []
    for folder, text in texts.items():
        if _DECLARES_TESTS.search(text) and not any((not other or folder.startswith(f"{other}/")) for other in found):
            found.append(folder)
    return found


def meson_tools(place: ProjectFolder) -> Tools | None:
    files = [path for path in place.paths if path.rpartition("/")[2] == "meson.build"]
    if "meson.build" not in files:
        return None
    if not any(re.search(r"^\s*test\s*\(", place.read(path), re.M) for path in files[:MAX_OPENED]):
        return None
    folder = _build_folder(place)
    test = ToolChoice(f"meson test -C {folder} --print-errorlogs", "tests in meson.build")
    build = ToolChoice(f"meson setup {folder}{_meson_switches(place)}", "meson.build")
    texts = [place.read(path) for path in files[:MAX_OPENED]]
    return Tools(place.folder, "Meson", test, build=build, unrun_tests=unrun_meson_tests(texts))


_MESON_OPTION = re.compile(r"^\s*option\s*\(\s*'([\w-]+)'((?:[^()']|'[^']*'|\([^()]*\))*)\)", re.M)


def _meson_switches(place: ProjectFolder) -> str:
    """Options for tests that are not on by default."""
    name = place.first("meson.options", "meson_options.txt")
    found = ""
    for option, rest in _MESON_OPTION.findall(place.read(name)) if name else ():
        what = re.search(r"\bdescription\s*:\s*'([^']*)'", rest)
        if not re.search(r"test", option, re.I) and not (what and re.search(r"\btests?\b", what[1], re.I)):
            continue
        if "'feature'" in rest and not re.search(r"\bvalue\s*:\s*'enabled'", rest):
            found += f" -D{option}=enabled"
        elif "'boolean'" in rest and re.search(r"\bvalue\s*:\s*'?false", rest):
            found += f" -D{option}=true"
    return found


def is_built_apart(place: ProjectFolder) -> bool:
    """True if CMake or Meson can build it here, and no package of another language is built with its files."""
    program = "cmake" if "CMakeLists.txt" in place.names else "meson"
    text = place.read("CMakeLists.txt") + place.read("meson.build") + place.read("pyproject.toml")
    binding = re.search(
        r"scikit.build|SKBUILD|mesonpy|pybind11|nanobind|\bPython3?_|import\('python'\)|napi|emscripten", text
    )
    return place.around.has_program(program) and not binding and "setup.py" not in place.names


def _build_folder(place: ProjectFolder) -> str:
    """`build`, unless the repository has files there."""
    return "_build" if any(path.startswith("build/") for path in place.paths) else "build"


def _normal(path: str) -> str:
    path = posixpath.normpath(path)
    return "" if path == "." else path
