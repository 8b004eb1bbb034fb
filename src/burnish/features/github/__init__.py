"""GitHub, through its command line (gh): reviews as comments, comments and failed CI runs as findings."""
