"""burnish: coding tasks, done by agents, tested, reviewed and fixed until approved."""

__version__ = "0.1.0"
