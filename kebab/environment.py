"""Typed reading of environment variables for the settings, with error messages for operators."""

import os
import shlex
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def text(name: str, default: str = "") -> str:
    """Return the variable without surrounding whitespace."""
    return os.environ.get(name, default).strip()


def whole_number(name: str, default: int) -> int:
    """Return the variable as a whole number. Raises ImproperlyConfigured."""
    raw = text(name, str(default))
    try:
        return int(raw)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} is {raw!r}; give a whole number.") from error


def flag(name: str, default: bool) -> bool:
    """Return the variable as a boolean. Raises ImproperlyConfigured."""
    raw = text(name, "1" if default else "0").lower()
    if raw not in {"0", "1", "false", "true", "no", "yes"}:
        raise ImproperlyConfigured(f"{name} is {raw!r}; give 1 or 0.")
    return raw in {"1", "true", "yes"}


def positive_number(name: str, default: int) -> int:
    """Return the variable as a whole number of at least 1. Raises ImproperlyConfigured."""
    number = whole_number(name, default)
    if number < 1:
        raise ImproperlyConfigured(f"{name} is {number}; give a whole number from 1 on.")
    return number


def header_text(name: str) -> str:
    """Return the variable if it is valid in an HTTP header. Raises ImproperlyConfigured."""
    raw = text(name)
    if not (raw.isascii() and raw.isprintable()):
        raise ImproperlyConfigured(f"{name} is {raw!r}; give printable ASCII characters.")
    return raw


def folder(name: str) -> Path | None:
    """Return the variable as an absolute path; None if it is empty. Raises ImproperlyConfigured."""
    raw = text(name)
    try:
        return Path(raw).expanduser().resolve() if raw else None
    except RuntimeError as error:
        raise ImproperlyConfigured(f"{name} is {raw!r}; nobody of that name has a home here.") from error


def items(name: str, separator: str = ",") -> list[str]:
    """Return the non-empty parts of the variable between separators."""
    return [part.strip() for part in text(name).split(separator) if part.strip()]


def commands(name: str) -> dict[str, list[str]]:
    """Return the commands of `name=command; …`, each split into words. Raises ImproperlyConfigured."""
    found = {}
    for entry in items(name, ";"):
        key, _, command = entry.partition("=")
        try:
            words = shlex.split(command)
        except ValueError:  # an open quotation mark
            words = []
        if not (key.strip() and words):
            raise ImproperlyConfigured(f"{name} has {entry!r}; give name=command, separated by semicolons.")
        found[key.strip()] = words
    return found


def keys_by_suffix(name: str) -> dict[str, str]:
    """Return the variables `name` and `name_…`, by their suffix in lower case."""
    return {
        variable.removeprefix(name).removeprefix("_").lower(): value.strip()
        for variable, value in os.environ.items()
        if variable == name or variable.startswith(f"{name}_")
    }
