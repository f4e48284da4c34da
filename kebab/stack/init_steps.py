"""Steps that apps add to `kebab init`: what has to exist before the stack serves, such as a model's file."""

from collections.abc import Callable

_steps: dict[str, Callable[[], None]] = {}


def register(name: str, step: Callable[[], None]) -> None:
    """Add a step from `AppConfig.ready`; it runs at every start, after the migrations: make it idempotent."""
    _steps[name] = step


def steps() -> dict[str, Callable[[], None]]:
    """Return the steps by name, in the order of their registration."""
    return dict(_steps)
