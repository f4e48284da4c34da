"""Steps that apps add to `kebab init`: what has to exist before the stack serves, such as a model's file."""

from collections.abc import Callable

_steps: dict[str, Callable[[], None]] = {}


def register(name: str, step: Callable[[], None]) -> None:
    """Add a step from `AppConfig.ready`; it runs after the migrations, at every start, so it has to be idempotent."""
    _steps[name] = step


def steps() -> dict[str, Callable[[], None]]:
    """The steps by name, in the order of their registration."""
    return dict(_steps)
