"""One file per analyser: its argv, and what its report says in our words."""
