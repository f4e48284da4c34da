"""The read rights of a caller, which decide which sources of a workspace are visible."""

import uuid
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A caller's read rights in one workspace. `Reader()` reads what all its members may read."""

    #: The groups the caller is in; a source restricted to one of them can be read.
    groups: frozenset[uuid.UUID] = frozenset()
    #: True for owners, admins and operators, who read restricted sources without being in a group.
    reads_all: bool = False


#: The command line on this machine, and the system itself.
OPERATOR = Reader(reads_all=True)
