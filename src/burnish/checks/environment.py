"""What checks and the set-up see of the environment: names from a list, and for checks no credentials."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from burnish.proc.environment import PROXIES, certificate_files, listed_environment
from burnish.regular_files import read_regular

# Where packages come from. Their values may hold credentials: for the set-up alone.
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
_OF_ONE_INDEX = re.compile(
    r"UV_INDEX_[A-Z0-9_]+_(?:USERNAME|PASSWORD)|CARGO_REGISTRIES_[A-Z0-9_]+_(?:INDEX|TOKEN)"
    r"|POETRY_HTTP_BASIC_[A-Z0-9_]+_(?:USERNAME|PASSWORD)"
)
_LOGIN_NAME = re.compile(r"_(?:USERNAME|PASSWORD|TOKEN)$|^UV_KEYRING_PROVIDER$")
# `https://user:secret@index.example`, several addresses in one value too
_USER_IN_ADDRESS = re.compile(r"://[^/\s,|]*@")
_LOGIN_IN_FILE = re.compile(rb"auth|passw|token|user|secret|credential|keyring|://[^/\s,|]*@|<server\b", re.IGNORECASE)
# Files in the home that say where packages come from; what else lies there stays hidden.
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


def check_environment(
    source: Mapping[str, str], *, places: Iterable[Path] = (), extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The environment of checks; a `.venv` in one of `places` comes first on the PATH."""
    env = listed_environment(source, places=places)
    proxies = {name for proxy in PROXIES for name in (proxy, proxy.upper())}
    cleaned = {name: without_credentials(value) if name in proxies else value for name, value in env.items()}
    # test runners print plainly, run once and ask nothing
    return {**cleaned, "CI": "1", **(extra or {})}


def setup_environment(
    source: Mapping[str, str],
    *,
    places: Iterable[Path] = (),
    extra: Mapping[str, str] | None = None,
    credentials: bool = True,
) -> dict[str, str]:
    """The environment of `workspace.setup`: as of checks, with proxies as they are and package indexes.

    Without `credentials` the addresses of indexes and proxies stay.
    """
    indexes = [name for name in source if name in INDEXES or _OF_ONE_INDEX.fullmatch(name)]
    env = listed_environment(source, places=places, extra=indexes)
    if not credentials:
        proxies = {name for proxy in PROXIES for name in (proxy, proxy.upper())}
        env = {
            name: _USER_IN_ADDRESS.sub("://", value) if name in {*indexes, *proxies} else value
            for name, value in env.items()
            if not _LOGIN_NAME.search(name) and not (name in INDEX_FILES and has_credentials(Path(value)))
        }
    return {**env, **(extra or {})}


def has_credentials(file: Path) -> bool:
    """Does a file with settings of package indexes hold anything that looks like a login? In doubt it does."""
    data = read_regular(file)
    return data is None or _LOGIN_IN_FILE.search(data) is not None


def withheld_credentials(source: Mapping[str, str], home: Path) -> bool:
    """Is anything left out where set-up runs without credentials?"""
    files = index_settings(home) != index_settings(home, credentials=False)
    given = {name: value for name, value in source.items() if value}
    return files or setup_environment(given) != setup_environment(given, credentials=False)


def without_credentials(url: str) -> str:
    """`http://user:secret@proxy:3128` → `http://proxy:3128`; what is not a URL stays."""
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
        if "@" not in parts.netloc:
            return url
        bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    except ValueError:
        return ""
    return bare if "://" in url else bare.removeprefix("//")


def named_files(env: Mapping[str, str]) -> tuple[Path, ...]:
    """Files and folders that the environment names and that a sandbox must show, read-only."""
    found = (Path(env[name]) for name in INDEX_FILES if env.get(name, "").startswith("/"))
    return tuple(dict.fromkeys((*certificate_files(env), *(path for path in found if path.exists()))))


def index_settings(home: Path, *, credentials: bool = True) -> tuple[Path, ...]:
    """The user's own settings for package indexes, for the set-up alone: they may hold credentials."""
    files = (home / name for name in _INDEX_SETTINGS if (home / name).is_file())
    return tuple(file for file in files if credentials or not has_credentials(file))
