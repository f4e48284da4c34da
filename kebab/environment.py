"""Reads environment variables for the settings, and tells operators what is wrong with one."""

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def text(name: str, default: str = "") -> str:
    """Return the variable without blanks around it."""
    return os.environ.get(name, default).strip()


def whole_number(name: str, default: int) -> int:
    """Return a whole number. Raises ImproperlyConfigured."""
    raw = text(name, str(default))
    try:
        return int(raw)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} is {raw!r}; give a whole number.") from error


def claim(name: str, default: bool) -> bool:
    """Return whether the variable says yes. Raises ImproperlyConfigured."""
    raw = text(name, "1" if default else "0").lower()
    if raw not in {"0", "1", "false", "true", "no", "yes"}:
        raise ImproperlyConfigured(f"{name} is {raw!r}; give 1 or 0.")
    return raw in {"1", "true", "yes"}


def at_least_one(name: str, default: int) -> int:
    """Return a whole number from 1 on. Raises ImproperlyConfigured."""
    number = whole_number(name, default)
    if number < 1:
        raise ImproperlyConfigured(f"{name} is {number}; give a whole number from 1 on.")
    return number


def header_text(name: str) -> str:
    """Return what may stand in a header. Raises ImproperlyConfigured."""
    raw = text(name)
    if not (raw.isascii() and raw.isprintable()):
        raise ImproperlyConfigured(f"{name} is {raw!r}; give printable ASCII characters.")
    return raw


def folder(name: str) -> Path | None:
    """Return a folder's whole path; None for an empty variable. Raises ImproperlyConfigured."""
    raw = text(name)
    try:
        return Path(raw).expanduser().resolve() if raw else None
    except RuntimeError as error:
        raise ImproperlyConfigured(f"{name} is {raw!r}; nobody of that name has a home here.") from error


def items(name: str, separator: str = ",") -> list[str]:
    """Return the parts between separators that are not empty."""
    return [part.strip() for part in text(name).split(separator) if part.strip()]


def keys(name: str) -> dict[str, str]:
    """Return the variables `name` and `name_…`, by what follows the name, in lower case."""
    return {
        variable.removeprefix(name).removeprefix("_").lower(): value.strip()
        for variable, value in os.environ.items()
        if variable == name or variable.startswith(f"{name}_")
    }
