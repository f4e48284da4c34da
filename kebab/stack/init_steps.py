"""Steps that apps add to `kebab init`, which create what the stack needs, such as a model's file."""

from collections.abc import Callable

from kebab.extension import contributions


def steps() -> dict[str, Callable[[], None]]:
    """Return the idempotent steps by name, in the order of the apps; they run after the migrations."""
    return dict(contributions("init_steps"))
