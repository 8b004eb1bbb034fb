"""Which variables checks and the set-up are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.checks.environment import (
    check_environment,
    index_settings,
    named_files,
    setup_environment,
    without_credentials,
)

SOURCE = {
    "PATH": "/bin",
    "HOME": "/home/me",
    "SSL_CERT_FILE": "/etc/ca.pem",
    "NODE_EXTRA_CA_CERTS": "/etc/ca.pem",
    "UV_SYSTEM_CERTS": "1",
    "https_proxy": "http://me:secret@proxy:3128",
    "NO_PROXY": "localhost",
    "PIP_INDEX_URL": "https://me:secret@packages.example/simple",
    "UV_INDEX_COMPANY_PASSWORD": "secret",
    "GOPROXY": "https://go.example",
    "npm_config_registry": "https://npm.example",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "PIP_ANYTHING_ELSE": "x",
    "UV_INDEX_": "x",
}


def test_checks_get_certificates_and_proxies_and_no_credentials() -> None:
    env = check_environment(SOURCE, extra={"TEST_DB": "db_1"})
    assert (env["SSL_CERT_FILE"], env["UV_SYSTEM_CERTS"], env["NO_PROXY"]) == ("/etc/ca.pem", "1", "localhost")
    assert env["https_proxy"] == "http://proxy:3128"
    assert (env["CI"], env["TEST_DB"]) == ("1", "db_1")
    assert "secret" not in "".join(env.values())
    assert not {"PIP_INDEX_URL", "GOPROXY", "npm_config_registry"} & env.keys()


def test_checks_use_no_results_of_tests_that_go_and_gradle_have_stored(tmp_path: Path) -> None:
    env = check_environment({**SOURCE, "HOME": str(tmp_path)})
    assert (env["GOFLAGS"], env["GRADLE_OPTS"]) == ("-count=1", "-Dorg.gradle.caching=false")
    (tmp_path / ".config/go").mkdir(parents=True)
    (tmp_path / ".config/go/env").write_text("GOPROXY=direct\nGOFLAGS=-mod=vendor -tags=db\n")
    assert check_environment({"HOME": str(tmp_path)})["GOFLAGS"] == "-mod=vendor -tags=db -count=1"
    assert check_environment({"HOME": str(tmp_path)}, extra={"GOFLAGS": "-v"})["GOFLAGS"] == "-v"


def test_the_setup_gets_package_indexes_by_name() -> None:
    env = setup_environment(SOURCE, extra={"TEST_DB": "db_1"})
    assert env["https_proxy"] == SOURCE["https_proxy"]
    assert {"PIP_INDEX_URL", "UV_INDEX_COMPANY_PASSWORD", "GOPROXY", "npm_config_registry"} <= env.keys()
    assert env["TEST_DB"] == "db_1" and "CI" not in env
    assert not {"AWS_SECRET_ACCESS_KEY", "PIP_ANYTHING_ELSE", "UV_INDEX_"} & env.keys()


@pytest.mark.parametrize(
    ("url", "bare"),
    [
        ("http://u:p@h:1/x", "http://h:1/x"),
        ("http://u:p@ss@h:1", "http://h:1"),
        ("u:p@h:1", "h:1"),
        ("http://h:1", "http://h:1"),
        ("h:1", "h:1"),
        ("localhost,.example.org", "localhost,.example.org"),
        ("http://[::1", ""),
        ("", ""),
    ],
)
def test_credentials_are_taken_out_of_a_proxy(url: str, bare: str) -> None:
    assert without_credentials(url) == bare


def test_files_that_variables_name_are_listed_where_they_exist(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("")
    (tmp_path / "pip.conf").write_text("")
    env = {"SSL_CERT_FILE": f"{tmp_path}/ca.pem", "PIP_CERT": f"{tmp_path}/none", "CURL_CA_BUNDLE": "relative"}
    assert named_files(env) == (tmp_path / "ca.pem",)
    assert named_files({**env, "PIP_CONFIG_FILE": f"{tmp_path}/pip.conf"})[1:] == (tmp_path / "pip.conf",)


def test_settings_for_package_indexes_are_found_in_the_home(tmp_path: Path) -> None:
    (tmp_path / ".config/pip").mkdir(parents=True)
    (tmp_path / ".config/pip/pip.conf").write_text("")
    (tmp_path / ".npmrc").write_text("")
    (tmp_path / ".netrc").write_text("")
    assert index_settings(tmp_path) == (tmp_path / ".config/pip/pip.conf", tmp_path / ".npmrc")
