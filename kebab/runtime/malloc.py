"""How many heaps the threads of a process share."""

import ctypes
from typing import Final

_ARENAS: Final = 2
# From malloc.h of the GNU C library.
_M_ARENA_MAX: Final = -8


def share_arenas() -> None:
    """Have all threads take their memory from two heaps, where the C library makes sixteen on two processors.

    Each keeps what was once taken of it for its own threads: a web process of seventeen threads took a sixth
    more. To be called before there are many threads; does nothing with a C library that has no such setting.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, _ARENAS)
