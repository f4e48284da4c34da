"""Configs of connector programs, which the operator offers by name."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings

from ingest.errors import AddressNotAllowed


def check_program(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config of a program that the operator offers. Raises AddressNotAllowed."""
    names = sorted(settings.KEBAB_CONNECTORS)
    if config["program"] not in names:
        offered = ", ".join(names) or "none"
        raise AddressNotAllowed(
            f"There is no program {config['program'][:100]!r}; this server has: {offered}."
        )
    parse_options(config.get("options", ()))
    return dict(config)


def parse_options(options: Sequence[str]) -> dict[str, str]:
    """Return the options of a program, given as `name=value`. Raises AddressNotAllowed."""
    pairs = [option.partition("=") for option in options]
    for name, mark, _ in pairs:
        if not (name and mark):
            raise AddressNotAllowed("Give options as name=value.")
    return {name.strip(): value.strip() for name, _, value in pairs}


def resolve_program(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the command and the options, unless the operator has withdrawn it. Raises AddressNotAllowed."""
    checked = check_program(config)
    return {
        "command": list(settings.KEBAB_CONNECTORS[checked["program"]]),
        "options": parse_options(checked.get("options", ())),
    }
