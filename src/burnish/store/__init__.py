"""State on disk: events, and the tables made from them."""

from burnish.store.rows import ProjectRow
from burnish.store.store import Store

__all__ = ["ProjectRow", "Store"]
