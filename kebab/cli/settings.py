"""Parsing of workspace settings and limits on the command line."""

import json
from collections.abc import Sequence
from typing import Any

from kebab.cli.errors import CliError
from kebab.people.workspace_settings.registry import clean_preferences


def parse_settings(texts: Sequence[str]) -> dict[str, Any]:
    """Parse and validate `NAME=VALUE` settings; an empty value, None, restores the default.

    Raises CliError for the first invalid one, by name.
    """
    given = dict(map(_parse_pair, texts))
    clean, wrong = clean_preferences(given)
    if wrong:
        name = min(wrong)
        raise CliError(f"{name}: {wrong[name]}", code="invalid_request")
    return clean


def _parse_pair(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise CliError(f"{text!r} is no setting; write NAME=VALUE.", code="invalid_request")
    return name.strip(), _parse_value(value.strip())


def _parse_value(text: str) -> Any:
    """Parse numbers, true, false and null as in JSON; anything else is a text."""
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text
