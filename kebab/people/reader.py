"""As whom something is read: what decides which sources of a workspace there are for a caller."""

import uuid
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A caller's right to read, within one workspace. `Reader()` reads what is open to all its members."""

    #: The groups the caller is in; a source restricted to one of them can be read.
    groups: frozenset[uuid.UUID] = frozenset()
    #: Owners, admins and whoever runs the machine read restricted sources without being in a group.
    reads_all: bool = False


#: Whoever runs the command line on the machine, and the system itself.
OPERATOR = Reader(reads_all=True)
