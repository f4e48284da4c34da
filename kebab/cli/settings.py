"""Parsing of workspace settings and limits on the command line."""

from collections.abc import Sequence
from typing import Any

from kebab.cli.client.arguments import parse_pairs
from kebab.cli.errors import CliError
from kebab.people.workspace_settings.registry import clean_preferences


def parse_settings(texts: Sequence[str]) -> dict[str, Any]:
    """Parse and validate `NAME=VALUE` settings; an empty value, None, restores the default.

    Raises CliError for the first invalid one, by name.
    """
    clean, wrong = clean_preferences(parse_pairs(texts))
    if wrong:
        name = min(wrong)
        raise CliError(f"{name}: {wrong[name]}", code="invalid_request")
    return clean
