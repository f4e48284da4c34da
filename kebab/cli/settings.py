"""Settings of a workspace as the command line is told them."""

import json
from collections.abc import Sequence
from typing import Any

from kebab.cli.errors import CliError
from kebab.people.workspace_settings.registry import clean_preferences


def settings_of(told: Sequence[str]) -> dict[str, Any]:
    """Return the clean settings that `NAME=VALUE` texts name; None, an empty value, is the default again.

    Raises CliError for the first that is wrong.
    """
    given = dict(map(_pair, told))
    clean, wrong = clean_preferences(given)
    if wrong:
        name = min(wrong)
        raise CliError(f"{name}: {wrong[name]}", code="invalid_request")
    return clean


def limits_of(told: Sequence[str]) -> dict[str, int | None]:
    """Return the limits that `NAME=N` texts name; None, of an empty value, is the default. Raises
    CliError.
    """
    return dict(map(_pair, told))


def _pair(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise CliError(f"{text!r} is no setting; write NAME=VALUE.", code="invalid_request")
    return name.strip(), _value(value.strip())


def _value(text: str) -> Any:
    """Numbers, true, false and null as JSON has them; anything else is a text."""
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text
