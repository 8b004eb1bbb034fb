"""The environment of agents and checks: listed names, plausible values, and no crash over what cannot be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from burnish.proc.environment import certificate_files, listed_environment
from burnish.proc.toolchains import programs_below
from testing.other_user import as_ordinary_user, open_directory


def test_only_locale_variables_pass_and_no_other_name_with_their_prefix() -> None:
    source = {
        "LANG": "de_DE.UTF-8",
        "LC_ALL": "C",
        "LC_CTYPE": "UTF-8",
        "LC_TIME": "sr_RS.UTF-8@latin",
        "LC_PAPER": "zh_Hans_CN.GB18030",
        "LC_SECRET_TOKEN": "C",
        "LC_TERMINAL": "iTerm2",
        "LC_": "C",
        "LCD": "C",
    }
    passed = listed_environment(source)
    assert set(passed) == {"LANG", "LC_ALL", "LC_CTYPE", "LC_TIME", "LC_PAPER", "PATH"}


@pytest.mark.parametrize(
    "value",
    [
        "",
        "ghp_a8Kd02mZqPw7Ls93Xc51Vb64Nn20Rt85Yu17",
        "../../x",
        "C;id",
        "C\n",
        "$(id)",
        "de DE",
        "a" * 99,
        "canary-secret-value",
        "hunter",
    ],
)
def test_a_value_that_names_no_locale_does_not_pass(value: str) -> None:
    assert set(listed_environment({"LC_ALL": value, "LANG": value})) == {"PATH"}


def test_directories_that_may_not_be_searched_are_left_out() -> None:
    """Root's PATH, kept by `su`; and a workspace whose author took its own rights away."""
    with open_directory() as root:

        def look() -> tuple[str, tuple[Path, ...]]:
            home, closed = root / "home", root / "home" / "closed"
            (closed / "bin").mkdir(parents=True)
            closed.chmod(0)
            path = f"{closed}/bin:/usr/bin"
            try:
                found = listed_environment({"PATH": path}, roots=[closed])
                return found["PATH"], programs_below(home, {home}, argv=(f"{closed}/bin/tool",), path=path).places
            finally:
                closed.chmod(0o700)

        path, below = as_ordinary_user(look)
    assert path.split(os.pathsep) == [f"{root}/home/closed/bin", "/usr/bin"]
    assert set(below) <= {root / "home" / "closed", root / "home" / "closed" / "bin"}


def test_certificate_authorities_pass_by_exact_name(tmp_path: Path) -> None:
    bundle = tmp_path / "ca.pem"
    bundle.write_text("")
    source = {"SSL_CERT_FILE": str(bundle), "PIP_CERT": "/missing.pem", "UV_NATIVE_TLS": "1", "SSL_CERT_FILE_KEY": "x"}
    passed = listed_environment(source)
    assert set(passed) == {"SSL_CERT_FILE", "PIP_CERT", "UV_NATIVE_TLS", "PATH"}
    assert certificate_files(passed) == (bundle,)


def test_folders_of_toolchains_are_passed_and_other_values_of_these_variables_are_not(tmp_path: Path) -> None:
    source = {"RUSTUP_HOME": str(tmp_path), "JAVA_HOME": "a-secret", "GOROOT": str(tmp_path / "missing")}
    assert set(listed_environment(source)) == {"PATH", "RUSTUP_HOME"}
