"""The errors of the stack."""


class StackError(Exception):
    """The base of all errors of the stack; `code` is stable, the message names the value and the remedy."""

    code = "stack_error"


class PathRefused(StackError):
    """A folder, file or socket path cannot be used."""

    code = "path_refused"


class ServerMissing(StackError):
    """No binary of an embedded server was found."""

    code = "server_missing"


class ServerFailed(StackError):
    """An embedded server did not start."""

    code = "server_failed"


class ServerUnreachable(StackError):
    """An external server does not answer."""

    code = "server_unreachable"


class DatabaseUnsuitable(StackError):
    """A database of the operator's lacks a version, an extension or a privilege."""

    code = "database_unsuitable"


class RestoreUnfinished(StackError):
    """A restore was killed: the data is incomplete."""

    code = "restore_unfinished"


class PreparationFailed(StackError):
    """Migrations or a preparation step ended with an error."""

    code = "preparation_failed"


class PortTaken(StackError):
    """Another process listens on the web port."""

    code = "port_taken"


class HostUnknown(StackError):
    """The host has no address to listen on."""

    code = "host_unknown"


class StackAlreadyRuns(StackError):
    """A stack already runs on the data directory."""

    code = "stack_already_runs"


class BlobsNotShared(StackError):
    """This node's blobs are not those of the other nodes, or can't be read."""

    code = "blobs_not_shared"


class BlobsUnreadable(BlobsNotShared):
    """This node's blobs can't be read or written now."""


class StackBusy(StackError):
    """Another command holds the data directory for longer than we wait."""

    code = "stack_busy"
