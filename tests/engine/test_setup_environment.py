"""What the set-up and the checks of a task see of the user's environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.bubblewrap import needs_bubblewrap
from testing.lab import APPROVE, Lab

LOOK = 'env > "{to}"; cat "$HOME/.npmrc" "$SSL_CERT_FILE" >> "{to}" 2>/dev/null; true'


def seen(path: Path) -> str:
    return path.read_text()


def looked(tmp_path: Path, *, confined: bool) -> tuple[str, str]:
    """What the set-up saw, and what a check saw."""
    # files that both may write, in the workspace: the rest is read-only in the sandbox
    setup = LOOK.format(to=".seen-by-setup")
    check = LOOK.format(to="{report_dir}/seen") + "; cat {report_dir}/seen"
    extra = (
        f"workspace: {{setup: '{setup}; cat .seen-by-setup'}}\n"
        f"checks: {{test: null, lint: null, extra: {{look: '{check}'}}}}\n"
        "isolation: {env: {TEST_DB: 'db_{task}'}}\n"
    )
    lab = Lab.make(tmp_path, judge=APPROVE, extra=extra, confined=confined)
    home = Path(lab.env["HOME"])
    (home / ".npmrc").write_text("registry-line\n")
    (home / "ca.pem").write_text("certificate-line\n")
    lab.env |= {
        "SSL_CERT_FILE": str(home / "ca.pem"),
        "PIP_INDEX_URL": "https://packages.example/simple",
        "HTTPS_PROXY": "http://me:hunter22@proxy:1",
        "AWS_SECRET_ACCESS_KEY": "x" * 40,
    }
    lab.repo.commit({".gitignore": ".seen-by-setup\n"})
    lab.add()
    lab.burnish("run")
    return (
        lab.burnish("log", "1", "--phase", "setup").out,
        lab.burnish("log", "1", "--phase", "check").out,
    )


def check_what_was_seen(setup: str, check: str) -> None:
    # the environment that set-up makes is shared by all tasks
    for text, database in ((setup, "db_setup"), (check, "db_1")):
        assert f"TEST_DB={database}" in text and "certificate-line" in text and "AWS_SECRET" not in text
    assert "PIP_INDEX_URL=https://packages.example/simple" in setup
    assert "PIP_INDEX_URL" not in check
    assert "HTTPS_PROXY=http://proxy:1" in check and "CI=1" in check


def test_setup_has_indexes_checks_have_certificates_and_both_have_isolation(tmp_path: Path) -> None:
    check_what_was_seen(*looked(tmp_path, confined=False))


@pytest.mark.slow
def test_in_the_sandbox_the_named_files_can_be_read_and_indexes_by_the_setup_alone(tmp_path: Path) -> None:
    needs_bubblewrap()
    setup, check = looked(tmp_path, confined=True)
    check_what_was_seen(setup, check)
    assert "registry-line" in setup and "registry-line" not in check


CREDENTIALS = {
    "PIP_INDEX_URL": "https://me:hunter22@packages.example/simple",
    "PIP_EXTRA_INDEX_URL": "https://a:hunter22@one.example https://b:hunter22@two.example",
    "UV_INDEX_COMPANY_PASSWORD": "hunter22",
    "CARGO_REGISTRIES_COMPANY_TOKEN": "hunter22",
    "HTTPS_PROXY": "http://me:hunter22@proxy:1",
}
# the author changes what set-up runs; `.seen` is part of the environment that the check finds
CHANGE = 'p = pathlib.Path("setup.sh"); p.write_text(p.read_text() + "# changed\\n")'


def change_of_setup(tmp_path: Path, script: str, *, confined: bool = False, **env: str) -> Lab:
    extra = (
        "workspace: {setup: 'sh setup.sh'}\n"
        "checks: {test: null, lint: null, extra: {look: 'cat .seen'}}\nreview: {agents: [judge], max_cycles: 1}\n"
    )
    lab = Lab.make(tmp_path, author=CHANGE, judge=APPROVE, extra=extra, confined=confined)
    (Path(lab.env["HOME"]) / ".npmrc").write_text("//registry.example/:_authToken=hunter22\n")
    lab.env |= {**CREDENTIALS, **env}
    lab.repo.commit({".gitignore": ".seen\n", "setup.sh": script})
    lab.add()
    return lab


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("confined", [False, True])
def test_set_up_of_a_change_does_not_see_the_credentials_of_package_indexes(tmp_path: Path, confined: bool) -> None:
    if confined:
        needs_bubblewrap()
    home_file = 'cat "$HOME/.npmrc" >> .seen; ' if confined else ""
    # masked in logs: count instead of printing
    count = "grep -c hunter22 .seen > .count; mv .count .seen"
    script = f"env > .seen; {home_file}{count}; echo $PIP_EXTRA_INDEX_URL >> .seen\n"
    lab = change_of_setup(tmp_path, script, confined=confined)
    lab.burnish("run", code=None)
    (cycle,) = lab.show()["cycles"]
    seen = lab.burnish("log", "1", "--phase", "check").out
    assert "0\nhttps://one.example https://two.example" in seen, (seen, cycle)


@pytest.mark.long
def test_a_set_up_that_fails_without_them_waits_for_a_person_who_can_give_them(tmp_path: Path) -> None:
    lab = change_of_setup(
        tmp_path, 'touch .seen; test "$UV_INDEX_COMPANY_PASSWORD" || { echo "401: login"; exit 1; }\n'
    )
    lab.burnish("run", code=None)
    task = lab.show()
    assert (task["status"], task["error"]) == ("failed", "SETUP_FAILED"), task
    assert "without the credentials of your package indexes" in task["note"]
    lab.env["BURNISH__WORKSPACE__SETUP_CREDENTIALS"] = "always"
    lab.burnish("retry", "1")
    lab.burnish("run", "1", code=None)
    assert lab.show()["status"] != "failed"


@pytest.mark.long
def test_set_up_that_fails_by_itself_is_the_changes_fault_where_there_are_no_credentials(tmp_path: Path) -> None:
    lab = change_of_setup(tmp_path, "touch .seen; ! grep -q '^# changed' setup.sh\n", **dict.fromkeys(CREDENTIALS, ""))
    (Path(lab.env["HOME"]) / ".npmrc").unlink()
    lab.burnish("run", code=None)
    task = lab.show()
    assert task["status"] == "blocked" and "credentials" not in str(task), task
