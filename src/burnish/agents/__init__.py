"""One file per agent: what to call, and how to read what it says. One runner does the calling."""
