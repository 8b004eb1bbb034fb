"""The environment variables that agents and checks get: only those listed here."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

LISTED = ("TERM", "TMPDIR", "HOME", "USER", "LOGNAME")
# locale(7); other names with this prefix could have any value
LOCALE = (
    *("LANG", "LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES"),
    *("LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME"),
)
# language[_Script][_TERRITORY][.charset][@modifier], and `UTF-8`, as macOS writes it
_LOCALE = re.compile(
    r"C|POSIX|C\.UTF-8|C\.utf8|UTF-8"
    r"|[a-z]{2,3}(?:(?:_[A-Z][a-z]{3})?_(?:[A-Z]{2}|\d{3})(?:\.[A-Za-z0-9-]{1,20})?(?:@[A-Za-z0-9]{1,20})?)?"
)
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
# Certificate authorities: without them nothing can be reached behind a proxy that inspects TLS.
# They name files and hold no credentials.
CA_FILES = (
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
    "NPM_CONFIG_CAFILE",
    "npm_config_cafile",
    "CARGO_HTTP_CAINFO",
    "NIX_SSL_CERT_FILE",
    "AWS_CA_BUNDLE",
)
# Where toolchains and version managers are, if not in their usual folder: images with Rust and Java set these.
TOOLCHAINS = (
    *(
        "RUSTUP_HOME",
        "JAVA_HOME",
        "GOROOT",
        "PYENV_ROOT",
        "RBENV_ROOT",
        "NVM_DIR",
        "VOLTA_HOME",
        "ASDF_DIR",
        "ASDF_DATA_DIR",
    ),
    *("MISE_DATA_DIR", "SDKMAN_DIR", "DOTNET_ROOT", "ANDROID_HOME", "ANDROID_SDK_ROOT"),
)
CA_SWITCHES = ("UV_NATIVE_TLS", "UV_SYSTEM_CERTS")


def path_outside(path: str, *places: Path) -> str:
    """A PATH without relative entries and without those inside `places`: a program there is the repository's."""
    return path_outside_of(path, {os.path.realpath(place) for place in places})


def path_outside_of(path: str, folders: Collection[str]) -> str:
    """The same for a set of real paths; fast, because every git call of a server with many projects uses it."""
    entries = [entry for entry in path.split(os.pathsep) if os.path.isabs(entry)]  # noqa: PTH117
    # An entry in the repository may be a link that leads outside now and may change.
    outside = [
        entry
        for entry in entries
        if not any(is_below(form, folders) for form in (os.path.realpath(entry), os.path.normpath(entry)))
    ]
    return os.pathsep.join(outside) or os.defpath


def is_below(path: str, folders: Collection[str]) -> bool:
    """True if the absolute path is one of the folders or inside one. The cost does not depend on their number."""
    while path not in folders:
        parent = os.path.dirname(path)  # noqa: PTH120 (text alone)
        if parent == path:
            return False
        path = parent
    return True


def listed_environment(
    source: Mapping[str, str], *, roots: Iterable[Path] = (), extra: Iterable[str] = ()
) -> dict[str, str]:
    """PATH (the `.venv` of `roots` first), language, terminal, user, proxy, certificates, toolchains, and `extra`."""
    names = {*LISTED, *PROXIES, *(name.upper() for name in PROXIES), *CA_FILES, *CA_SWITCHES, *extra}
    variables = {name: value for name, value in source.items() if name in names}
    variables |= {name: source[name] for name in LOCALE if _LOCALE.fullmatch(source.get(name, ""))}
    # Only folders: another value could be anything.
    folders = {name: source[name] for name in TOOLCHAINS if os.path.isabs(source.get(name, ""))}  # noqa: PTH117
    variables |= {name: value for name, value in folders.items() if os.path.isdir(value)}  # noqa: PTH112
    # Not Path.is_dir(), which raises if a parent directory is not searchable.
    venvs = (bin_dir for root in roots if os.path.isdir(bin_dir := str(root / ".venv" / "bin")))  # noqa: PTH112
    variables["PATH"] = os.pathsep.join([*venvs, source.get("PATH") or os.defpath])
    return variables


def variables_for_mounts(env: Mapping[str, str], *, roots: Iterable[Path] = ()) -> dict[str, str]:
    """The part of `env` that may affect what a sandbox mounts: values of the user's own environment.

    `isolation.env` of a repository sets others. They reach the program, but open nothing: neither by `SSL_CERT_DIR` or
    `CLAUDE_CONFIG_DIR` nor by a folder on PATH that is neither on the user's nor in `roots`.
    """
    # An empty folder always replaces TMPDIR.
    own = {name: value for name, value in env.items() if name == "TMPDIR" or os.environ.get(name) == value}
    allowed_entries = {*os.environ.get("PATH", "").split(os.pathsep), *os.defpath.split(os.pathsep)}
    inner = [Path(os.path.realpath(root)) for root in roots]
    entries = [
        entry
        for entry in env.get("PATH", "").split(os.pathsep)
        if entry in allowed_entries or any(Path(os.path.realpath(entry)).is_relative_to(place) for place in inner)
    ]
    return {**own, "PATH": os.pathsep.join(entries)}


def certificate_files(env: Mapping[str, str]) -> tuple[Path, ...]:
    """Files and folders of certificate authorities that the environment names; a sandbox shows them, read-only."""
    values = (env[name] for name in CA_FILES if env.get(name, "").startswith("/"))
    # Not Path.exists(), which raises if a parent directory is not searchable.
    return tuple(dict.fromkeys(Path(value) for value in values if os.path.exists(value)))  # noqa: PTH110
