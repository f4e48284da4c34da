"""What can be wrong with a mirror. A rebuild mends all of it but what passes.

MirrorError
├── MirrorToBeMade       making it from Postgres mends it
│   ├── MirrorAbsent      no generation is published yet
│   ├── MirrorOutdated    the file, or its place in the log, can't be followed any further
│   └── MirrorDamaged     SQLite or FTS5 says the file is broken
├── MirrorBusy           another process of this node is writing it, or its disk lets nobody read it now
├── SyncTakesLong        what is to be done takes longer than its caller has
└── SqliteTooOld         the library would corrupt files
"""


class MirrorError(Exception):
    """A mirror can't be used as it is."""


class MirrorToBeMade(MirrorError):
    """A new generation is to be made from Postgres, which takes as long as there are chunks."""

    why: str


class MirrorAbsent(MirrorToBeMade):
    """This node has no mirror of the workspace yet; `sync_mirror` builds one."""

    why = "first"


class MirrorOutdated(MirrorToBeMade):
    """The mirror can't follow the change log from where it stands and has to be rebuilt."""

    def __init__(self, told: str, *, why: str) -> None:
        """`why` is one word of a few, for counts."""
        super().__init__(told)
        self.why = why


class MirrorDamaged(MirrorToBeMade):
    """The mirror's file is damaged and has to be rebuilt."""

    why = "damaged"


class MirrorBusy(MirrorError):
    """The mirror can't be written, or not read, at this moment: ask again."""


class SyncTakesLong(MirrorError):
    """The mirror has to be made, or is far behind, and who asked for a brief sync has no time for that."""


class SqliteTooOld(MirrorError):
    """The SQLite library is older than the first release that is safe for mirrors."""
