"""What long work on a bundle tells of itself."""

from collections.abc import Callable

#: Told a stage, how much of it is done, and of how much; 0 is not known.
Progress = Callable[[str, int, int], None]
