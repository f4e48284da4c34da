"""Errors of jobs and of requests for jobs.

IngestError
├── JobError
│   ├── LeaseLost       another worker has the job now; stop without writing
│   ├── JobCancelled    the job was cancelled before this item was committed
│   ├── JobYielded      the job goes back to the queue, for other jobs or because its worker stops
│   ├── JobFailed       the job can't go on; what was indexed stays
│   └── JobNotOpen      the job has already ended
├── FolderNotAllowed    the folder is outside KEBAB_FOLDER_ROOTS
├── AddressNotAllowed   the address is invalid, or not one that may be read
├── ConnectionFailed    a source that is to be added can't be reached
└── CredentialsRefused  the credentials don't fit the address, or can't be stored
"""

from typing import ClassVar


class IngestError(Exception):
    """A request to ingest can't be met; the message says what to do."""

    code: ClassVar[str] = "ingest_error"
    status: ClassVar[int] = 400


class JobError(IngestError):
    """A job can't go on."""

    code = "job_error"
    status = 409


class LeaseLost(JobError):
    """The job's lease has gone to another worker."""


class JobCancelled(JobError):
    """The job was cancelled before it could write its next item."""


class JobYielded(JobError):
    """The job goes back to the queue; the next claim continues it. What is done stays done."""


class JobFailed(JobError):
    """The job can't be done; its owner reads the message."""


class JobNotOpen(JobError):
    """The job has already ended."""

    code = "job_not_open"


class FolderNotAllowed(IngestError):
    """The folder lies outside the roots that the operator allows."""

    code = "folder_not_allowed"
    status = 422


class AddressNotAllowed(IngestError):
    """The address is invalid, or leads to a place that the operator doesn't allow."""

    code = "address_not_allowed"
    status = 422


class ConnectionFailed(IngestError):
    """The source that is to be added can't be reached."""

    code = "connection_failed"
    status = 422


class CredentialsRefused(IngestError):
    """The credentials don't fit the address they are for, or can't be stored."""

    code = "credentials_refused"
    status = 422
