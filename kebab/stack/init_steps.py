"""Steps that apps add to `kebab init`, which create what the stack needs, such as a model's file."""

from collections.abc import Callable

_steps: dict[str, Callable[[], None]] = {}


def register(name: str, step: Callable[[], None]) -> None:
    """Register an idempotent step in `AppConfig.ready`; it runs at every start, after the migrations."""
    _steps[name] = step


def steps() -> dict[str, Callable[[], None]]:
    """Return the steps by name, in the order of their registration."""
    return dict(_steps)
