"""One file per analyser: its argv, and how its report becomes remarks."""
