"""The database: events, and the tables that are derived from them."""

from burnish.store.rows import ProjectRow
from burnish.store.store import Store

__all__ = ["ProjectRow", "Store"]
