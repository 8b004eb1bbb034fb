"""Finds the test commands of Maven and Gradle projects, with those of their integration tests."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from burnish.checks.tools import ProjectFolder, Read, ToolChoice, Tools, UnrunTests

_COMMENT = re.compile(r"<!--.*?-->", re.S)
_MODULE = re.compile(r"<module>\s*([^<]+?)\s*</module>")
_POM_CHARACTERS = 256 * 1024
_FAILSAFE = "maven-failsafe-plugin"
# What a POM declares here is used in some builds alone, or only where another element names it again.
_NOT_ACTIVE = re.compile(r"<(profiles|pluginManagement)>.*?</\1>", re.S)
# Names of failsafe's tests; surefire does not run them.
_INTEGRATION_TEST = re.compile(r"(?:^|/)src/.*/(?:IT[A-Z0-9][^/]*|[^/]*IT|[^/]*ITCase)\.(?:java|kt|groovy|scala)")
_GRADLE_FILES = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
# Tasks of the type Test, and test suites: in Groovy, then in Kotlin.
_GRADLE_TEST_TASKS = re.compile(
    r"""\b(?:register|create)\s*\(\s*["'](\w+)["']\s*,\s*(?:Test|JvmTestSuite)\b"""
    r"""|\btask\s+(\w+)\s*\(\s*type\s*:\s*Test\b"""
    r"""|(?:^|[\s{;])(\w+)\s*\(\s*JvmTestSuite\s*\)"""
    r"""|\b(?:register|create|task)<(?:Test|JvmTestSuite)>\s*\(\s*["'](\w+)["']"""
    r"""|\bval\s+(\w+)\s+by\s+(?:tasks\.|testing\.suites\.)?(?:registering|creating)\s*\(\s*(?:Test|JvmTestSuite)::""",
    re.M,
)
# Words in build files of tests that need more than the tree: containers, browsers.
_SERVICES = re.compile(r"\b(?:docker|testcontainers|selenium|webdriver|playwright|appium|kubernetes)", re.I)
_SLOW = re.compile(r"bench|perf|stress|load|soak|slow|nightly|mutation", re.I)
_MAX_BUILD_FILES = 50


def java_tools(place: ProjectFolder) -> Tools | None:
    weight = place.count(".java", ".kt", ".groovy", ".scala")
    if "pom.xml" in place.names:
        test, unrun = _maven_test(place)
    elif name := place.first(*_GRADLE_FILES):
        test, unrun = _gradle_test(place, name)
    else:
        return None
    return Tools(place.folder, "Java", test, weight=weight, unrun_tests=unrun)


def _maven_test(place: ProjectFolder) -> tuple[ToolChoice, tuple[UnrunTests, ...]]:
    """`mvn test`; `mvn verify` if the build runs failsafe, whose tests need no services."""
    program = "./mvnw" if "mvnw" in place.names else "mvn"
    test = ToolChoice(f"{program} -q -B test", "pom.xml")
    folders = sorted({place.folder, *module_folders(place.folder, place.read_from_root)})
    poms = [read_pom(folder, place.read_from_root) for folder in folders]
    is_active = any(_FAILSAFE in _NOT_ACTIVE.sub("", pom) for pom in poms)
    service = _SERVICES.search("\n".join(poms))
    if is_active and not service:
        return ToolChoice(f"{program} -q -B verify", "pom.xml with failsafe, whose tests run in `verify`"), ()
    if is_active and service:
        why = f"the integration tests of failsafe may need services ({service[0]} in pom.xml)"
        return test, (UnrunTests(f"{program} verify", "verify", why),)
    if any(_INTEGRATION_TEST.search(path) for path in place.paths):
        is_in_profile = any(_FAILSAFE in pom for pom in poms)
        why = "failsafe is not part of the usual build" if is_in_profile else "pom.xml does not name failsafe"
        return test, (UnrunTests("tests named *IT", "verify", why),)
    return test, ()


def read_pom(folder: str, read: Read) -> str:
    """The text of a POM without comments, "" if there is none."""
    return _COMMENT.sub("", (read(posixpath.join(folder, "pom.xml")) or "")[:_POM_CHARACTERS])


def module_folders(root: str, read: Read) -> set[str]:
    """The folders of the modules of a Maven project, and of their modules."""
    found: set[str] = set()
    pending = [root]
    while pending:
        folder = pending.pop()
        for name in _MODULE.findall(read_pom(folder, read)):
            module = posixpath.normpath(posixpath.join(folder, name.removesuffix("/pom.xml")))
            if module not in found:
                found.add(module)
                pending.append(module)
    return found


def _gradle_test(place: ProjectFolder, name: str) -> tuple[ToolChoice, tuple[UnrunTests, ...]]:
    """`gradle test` with the tasks of further test suites, as far as they need no services."""
    program = "./gradlew" if "gradlew" in place.names else "gradle"
    texts = [place.read(path) for path in _gradle_files(place)]
    matches = [match for text in texts for match in _GRADLE_TEST_TASKS.finditer(text)]
    tasks = sorted({name for match in matches for name in match.groups() if name} - {"test"})
    service = _SERVICES.search("\n".join(texts))
    why_not = f"it may need services ({service[0]} in the build file)" if service else ""
    reasons = {task: why_not or "it may take long" for task in tasks if why_not or _SLOW.search(task)}
    unrun = tuple(UnrunTests(f"{program} {task}", task, why) for task, why in reasons.items())
    tasks = [task for task in tasks if task not in reasons]
    why = f"{name}, and its further test tasks" if tasks else name
    if any("/androidTest/" in f"/{path}" for path in place.paths):
        device = UnrunTests(f"{program} connectedAndroidTest", "connectedAndroidTest", "it needs a device")
        unrun = (*unrun, device)
    return ToolChoice(" ".join((program, *_usual_tasks(texts), *tasks)), why), unrun


_KOTLIN_TARGETS = re.compile(
    r"""kotlin\s*\(\s*["']multiplatform["']|org\.jetbrains\.kotlin\.multiplatform|\bkotlin-multiplatform\b"""
)
_JVM_PLUGIN = re.compile(
    r"""\bid\s*\(?\s*["']java|^\s*(?:`?java(?:-library)?`?|application)\s*$|kotlin\s*\(\s*["']jvm["']"""
    r"""|plugin:\s*["']java""",
    re.M,
)


def _usual_tasks(texts: Iterable[str]) -> list[str]:
    """`test`; projects of Kotlin for several platforms have `allTests` instead."""
    texts = list(texts)
    if not any(_KOTLIN_TARGETS.search(text) for text in texts):
        return ["test"]
    return ["test", "allTests"] if any(_JVM_PLUGIN.search(text) for text in texts) else ["allTests"]


def _gradle_files(place: ProjectFolder) -> list[str]:
    """The build scripts of this build; builds below it with settings of their own are others."""
    settings = ("settings.gradle", "settings.gradle.kts")
    others = tuple(
        f"{posixpath.dirname(path)}/"
        for path in place.paths
        if posixpath.basename(path) in settings and "/" in path and not path.startswith("buildSrc/")
    )
    scripts = [
        path for path in place.paths if path.endswith((".gradle", ".gradle.kts")) and not path.startswith(others)
    ]
    return scripts[:_MAX_BUILD_FILES]
