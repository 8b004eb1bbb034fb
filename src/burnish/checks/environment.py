"""The environment variables that checks and set-up get: names from a list, and no credentials for checks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from burnish.proc.environment import PROXIES, certificate_files, listed_environment
from burnish.regular_files import read_regular

# Package indexes. Their values may hold credentials, so only set-up gets them.
INDEX_FILES = ("PIP_CONFIG_FILE", "UV_CONFIG_FILE", "NPM_CONFIG_USERCONFIG", "npm_config_userconfig")
INDEXES = (
    *INDEX_FILES,
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIP_NO_INDEX",
    "PIP_TRUSTED_HOST",
    "PIP_PROXY",
    "UV_INDEX",
    "UV_DEFAULT_INDEX",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
    "UV_INSECURE_HOST",
    "UV_KEYRING_PROVIDER",
    "UV_PYTHON_INSTALL_MIRROR",
    "NPM_CONFIG_REGISTRY",
    "npm_config_registry",
    "YARN_NPM_REGISTRY_SERVER",
    "GOPROXY",
    "GOPRIVATE",
    "GONOPROXY",
    "GONOSUMDB",
    "GONOSUMCHECK",
    "GOSUMDB",
    "GOFLAGS",
    "CARGO_REGISTRY_DEFAULT",
    "CARGO_NET_GIT_FETCH_WITH_CLI",
    "BUNDLE_MIRROR__ALL",
)
# e.g. UV_INDEX_COMPANY_PASSWORD, CARGO_REGISTRIES_COMPANY_INDEX
_NAMED_INDEX_VARIABLE = re.compile(
    r"UV_INDEX_[A-Z0-9_]+_(?:USERNAME|PASSWORD)|CARGO_REGISTRIES_[A-Z0-9_]+_(?:INDEX|TOKEN)"
    r"|POETRY_HTTP_BASIC_[A-Z0-9_]+_(?:USERNAME|PASSWORD)"
)
_CREDENTIAL_VARIABLE = re.compile(r"_(?:USERNAME|PASSWORD|TOKEN)$|^UV_KEYRING_PROVIDER$")
# `https://user:secret@index.example`, also with several URLs in one value
_CREDENTIALS_IN_URL = re.compile(r"://[^/\s,|]*@")
_LOGIN_IN_FILE = re.compile(rb"auth|passw|token|user|secret|credential|keyring|://[^/\s,|]*@|<server\b", re.IGNORECASE)
# Files in the home that configure package indexes; other files there stay hidden.
_INDEX_SETTINGS = (
    ".config/pip/pip.conf",
    ".pip/pip.conf",
    ".config/uv/uv.toml",
    ".config/pypoetry/config.toml",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".config/pnpm/rc",
    ".config/go/env",
    ".cargo/config.toml",
    ".cargo/config",
    ".bundle/config",
    ".m2/settings.xml",
)


_GRADLE_OPTIONS = "-Dorg.gradle.caching=false"


def check_environment(
    source: Mapping[str, str], *, roots: Iterable[Path] = (), extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The environment of checks; a `.venv` in one of `roots` comes first on the PATH."""
    env = listed_environment(source, roots=roots)
    proxies = {name for proxy in PROXIES for name in (proxy, proxy.upper())}
    variables = {name: without_credentials(value) if name in proxies else value for name, value in env.items()}
    # With CI set, test runners print plain text, run once and do not prompt.
    return {**variables, "CI": "1", **_without_stored_results(env), **(extra or {})}


def _without_stored_results(env: Mapping[str, str]) -> dict[str, str]:
    """Variables that make Go and Gradle run tests whose result they have stored in the home directory.

    They compare the inputs that they know: not what a program reads or builds that a test starts, nor, in Gradle, what
    the build does not declare.
    """
    settings = read_regular(Path(env.get("HOME", "/"), ".config/go/env")) or b""
    # The variable replaces the flags of `go env -w`.
    flags = re.findall(r"^GOFLAGS=(.*)$", settings.decode("utf-8", "replace"), re.M)
    return {"GOFLAGS": " ".join((*flags[-1:], "-count=1")).strip(), "GRADLE_OPTS": _GRADLE_OPTIONS}


def with_gradle_options(env: Mapping[str, str]) -> dict[str, str]:
    """The environment for a project that sets GRADLE_OPTS itself: Gradle's start script reads both variables."""
    options = f"{env.get('JAVA_OPTS', '')} {_GRADLE_OPTIONS}".strip()
    return {**env, "JAVA_OPTS": options}


def setup_environment(
    source: Mapping[str, str],
    *,
    roots: Iterable[Path] = (),
    extra: Mapping[str, str] | None = None,
    credentials: bool = True,
) -> dict[str, str]:
    """The environment of `workspace.setup`: that of checks, plus unchanged proxies and package indexes.

    With `credentials=False` only the URLs of indexes and proxies stay.
    """
    indexes = [name for name in source if name in INDEXES or _NAMED_INDEX_VARIABLE.fullmatch(name)]
    env = listed_environment(source, roots=roots, extra=indexes)
    if not credentials:
        proxies = {name for proxy in PROXIES for name in (proxy, proxy.upper())}
        env = {
            name: _CREDENTIALS_IN_URL.sub("://", value) if name in {*indexes, *proxies} else value
            for name, value in env.items()
            if not _CREDENTIAL_VARIABLE.search(name) and not (name in INDEX_FILES and has_credentials(Path(value)))
        }
    return {**env, **(extra or {})}


def has_credentials(file: Path) -> bool:
    """True if a settings file of package indexes may hold a login; unreadable files count as True."""
    data = read_regular(file)
    return data is None or _LOGIN_IN_FILE.search(data) is not None


def withheld_credentials(source: Mapping[str, str], home: Path) -> bool:
    """True if set-up without credentials lacks variables or files."""
    files = index_settings(home) != index_settings(home, credentials=False)
    variables = {name: value for name, value in source.items() if value}
    return files or setup_environment(variables) != setup_environment(variables, credentials=False)


def without_credentials(url: str) -> str:
    """`http://user:secret@proxy:3128` → `http://proxy:3128`; other values are returned unchanged."""
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
        if "@" not in parts.netloc:
            return url
        bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    except ValueError:
        return ""
    return bare if "://" in url else bare.removeprefix("//")


def named_files(env: Mapping[str, str]) -> tuple[Path, ...]:
    """Files and folders named by the environment, which a sandbox must mount read-only."""
    found = (Path(env[name]) for name in INDEX_FILES if env.get(name, "").startswith("/"))
    return tuple(dict.fromkeys((*certificate_files(env), *(path for path in found if path.exists()))))


def index_settings(home: Path, *, credentials: bool = True) -> tuple[Path, ...]:
    """The user's settings files for package indexes. Only for set-up, since they may hold credentials."""
    files = (home / name for name in _INDEX_SETTINGS if (home / name).is_file())
    return tuple(file for file in files if credentials or not has_credentials(file))
