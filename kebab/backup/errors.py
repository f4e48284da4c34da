"""What can go wrong with backups.

StackError
├── BackupFailed     a copy could not be made, or is not what was copied
├── BackupMissing    there is no backup that leads to what was asked for
├── RestoreFailed    what was restored does not come up, or not to the time asked for
└── RestoreRefused   there is something already where it was to go
"""

from kebab.stack.errors import StackError


class BackupFailed(StackError):
    """A copy could not be made, or is not what was copied."""

    code = "backup_failed"


class BackupMissing(StackError):
    """There is no backup that leads to what was asked for."""

    code = "backup_missing"


class RestoreFailed(StackError):
    """What was restored does not come up, or not to the time asked for."""

    code = "restore_failed"


class RestoreRefused(StackError):
    """There is something already where it was to go."""

    code = "restore_refused"
