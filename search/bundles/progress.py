"""Progress callback of long operations on bundles."""

from collections.abc import Callable

#: Arguments: name of the stage, amount done, total amount (0: unknown).
Progress = Callable[[str, int, int], None]
