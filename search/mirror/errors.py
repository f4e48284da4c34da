"""Errors of mirrors.

MirrorError
├── MirrorRebuildNeeded  a rebuild from Postgres repairs it
│   ├── MirrorAbsent      no generation is published yet
│   ├── MirrorOutdated    the file, or its position in the log, can't be followed any further
│   └── MirrorDamaged     SQLite or FTS5 reports a broken file
├── MirrorBusy           another process of this node is writing it, or its disk can't be read now
├── SyncTakesLong        the sync takes longer than its caller has
└── SqliteTooOld         the library would corrupt files
"""


class MirrorError(Exception):
    """A mirror can't be used as it is."""


class MirrorRebuildNeeded(MirrorError):
    """A new generation must be built from Postgres, in time proportional to the number of chunks."""

    #: The reason as one word, for counts.
    why: str


class MirrorAbsent(MirrorRebuildNeeded):
    """This node has no mirror of the workspace yet; `sync_mirror` builds one."""

    why = "first"


class MirrorOutdated(MirrorRebuildNeeded):
    """The mirror can't follow the change log from its position and has to be rebuilt."""

    def __init__(self, message: str, *, why: str) -> None:
        """Create the error; `why` is the reason as one word, for counts."""
        super().__init__(message)
        self.why = why


class MirrorDamaged(MirrorRebuildNeeded):
    """The mirror's file is damaged and has to be rebuilt."""

    why = "damaged"


class MirrorBusy(MirrorError):
    """The mirror can't be written or read at the moment; retry."""


class SyncTakesLong(MirrorError):
    """The mirror has to be built or is far behind, and the caller asked for a brief sync."""


class SqliteTooOld(MirrorError):
    """The SQLite library is older than the first release that is safe for mirrors."""
