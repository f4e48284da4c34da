"""What can go wrong with a job, or with asking for one.

IngestError
├── JobError
│   ├── LeaseLost       another worker has taken over; stop without writing
│   ├── JobCancelled    someone asked for its end before this item was committed
│   ├── TurnOver        it is put back, for other jobs or as its worker stops; what is done stays done
│   ├── JobFailed       the job can't go on; what was indexed stays
│   └── JobNotOpen      it has already come to its end
├── FolderNotAllowed    outside KEBAB_FOLDER_ROOTS
├── AddressNotAllowed   no address of a repository that may be read
└── CredentialsRefused  they don't fit the address, or can't be stored
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
    """The job's end was asked for before what it was about to write."""


class TurnOver(JobError):
    """The job is put back, to be carried on by the next claim."""


class JobFailed(JobError):
    """The job can't be done; the message is what its owner reads."""


class JobNotOpen(JobError):
    """The job has already ended."""

    code = "job_not_open"


class FolderNotAllowed(IngestError):
    """The folder lies outside the roots that the operator allows."""

    code = "folder_not_allowed"
    status = 422


class AddressNotAllowed(IngestError):
    """The address is none, or leads to where the operator doesn't allow."""

    code = "address_not_allowed"
    status = 422


class CredentialsRefused(IngestError):
    """The credentials don't fit what they are for, or can't be stored."""

    code = "credentials_refused"
    status = 422
