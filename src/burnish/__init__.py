"""burnish: coding tasks, done by agents, tested, reviewed and fixed until approved."""

from typing import Any

__version__ = "0.1.0"

# the Python API; `__init__.pyi` has its types
__all__ = [
    "BurnishError",
    "ChangeReview",
    "Event",
    "Finding",
    "Project",
    "Status",
    "Task",
    "__version__",
    "open_project",
]


def __getattr__(name: str) -> Any:
    """Load the API when it is used: every command imports this module, and must start fast."""
    if name not in __all__:
        raise AttributeError(f"module 'burnish' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("burnish.library"), name)
