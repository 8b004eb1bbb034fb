"""Settings that are known, so that a file written for a later version loads, and that have no effect in this one."""

from __future__ import annotations

from burnish.config.settings import Config


def unused_settings(config: Config) -> list[str]:
    """One line for all that are set; empty if none is."""
    names = [f"agents.{name}.effort" for name, agent in sorted(config.agents.items()) if agent.effort is not None]
    names += ["budget.reserve"] if config.budget.reserve is not None else []
    return [f"{', '.join(names)} {'has' if len(names) == 1 else 'have'} no effect in this version."] if names else []
