"""Subcommands of `kebab eval`: judged sets in BEIR's layout, and a workspace's own topics and runs."""
