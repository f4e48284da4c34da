"""The error tree of backups.

StackError
├── BackupFailed     a copy failed, or differs from the original
├── BackupMissing    no backup leads to the requested state
├── RestoreFailed    the restored database does not start, or does not reach the requested time
└── RestoreRefused   the target has data already
"""

from kebab.stack.errors import StackError


class BackupFailed(StackError):
    """A copy failed, or differs from the original."""

    code = "backup_failed"


class BackupMissing(StackError):
    """No backup leads to the requested state."""

    code = "backup_missing"


class RestoreFailed(StackError):
    """The restored database does not start, or does not reach the requested time."""

    code = "restore_failed"


class RestoreRefused(StackError):
    """The target has data already."""

    code = "restore_refused"
