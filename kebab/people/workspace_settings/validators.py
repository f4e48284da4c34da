"""Validators of workspace settings: each returns the value to store, or raises ValueError with the remedy."""

from collections.abc import Callable
from typing import Any


def integer_between(least: int, most: int) -> Callable[[Any], int]:
    """Return a validator of integers, bounds included."""

    def validate(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"{value!r} is not a whole number from {least} to {most}.")
        return value

    return validate


def number_between(least: float, most: float) -> Callable[[Any], float]:
    """Return a validator of numbers, bounds included."""

    def validate(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise ValueError(f"{value!r} is not a number from {least} to {most}.")
        return float(value)

    return validate


def one_of(choices: Callable[[], tuple[str, ...]]) -> Callable[[Any], str]:
    """Return a validator of the choices that there are when it is called."""

    def validate(value: Any) -> str:
        known = choices()
        if value not in known:
            raise ValueError(f"{value!r} is not one of {', '.join(known)}.")
        return str(value)

    return validate


def boolean(value: Any) -> bool:
    """Return a boolean as it is. Raises ValueError."""
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is not true or false.")
    return value
