"""What the set-up and the checks of a task see of the user's environment."""

from __future__ import annotations

from pathlib import Path

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


def test_in_the_sandbox_the_named_files_can_be_read_and_indexes_by_the_setup_alone(tmp_path: Path) -> None:
    needs_bubblewrap()
    setup, check = looked(tmp_path, confined=True)
    check_what_was_seen(setup, check)
    assert "registry-line" in setup and "registry-line" not in check
