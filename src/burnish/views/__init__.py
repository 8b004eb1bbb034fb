"""Data for the CLI and the web pages, built once for both."""
