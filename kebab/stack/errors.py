"""The error tree of the stack.

StackError
├── PathRefused         a folder, file or socket path that cannot be used
├── ServerMissing       no binary of an embedded server
├── ServerFailed        an embedded server that does not start
├── ServerUnreachable   an external server that does not answer
├── RestoreUnfinished   a restore was killed: the data is incomplete
├── PreparationFailed   migrations or a preparation step ended with an error
├── PortTaken           another process listens on the web port
├── HostUnknown         there is no address to listen on
├── StackAlreadyRuns    a second `up` on the same data directory
├── BlobsNotShared      this node's blobs are not those of the other nodes
└── StackBusy           another command holds the data directory for too long
"""


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


class StackBusy(StackError):
    """Another command holds the data directory for longer than we wait."""

    code = "stack_busy"
