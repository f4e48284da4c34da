"""What can be wrong with a bundle, or with writing and reading one.

BundleError
├── BundleExists       there is a file at the path that an export is to write
├── BundleUnreadable   no such file, or it can't be read
├── NotABundle         a file of another kind
├── BundleTooNew       of a format that this release does not read
├── BundleDamaged      its bytes are not those that were written
├── BundleRefused      whole, but it holds what no export writes
└── ImportUnderWay     another process brings the same bundle in, or the slug is being taken
"""

from search.errors import CorpusError


class BundleError(CorpusError):
    """A bundle can't be written or read; the message says what is wrong and what to do."""

    code = "bundle_error"


class BundleExists(BundleError):
    """There is a file already; an export replaces none unasked."""

    code = "bundle_exists"
    status = 409


class BundleUnreadable(BundleError):
    """The file is missing or can't be read."""

    code = "bundle_unreadable"
    status = 404


class NotABundle(BundleError):
    """The file is none of ours."""

    code = "not_a_bundle"
    status = 422


class BundleTooNew(BundleError):
    """The file is of a format that a later release of Kebab writes."""

    code = "bundle_too_new"
    status = 422


class BundleDamaged(BundleError):
    """The file is cut off, or not every byte of it is what was written."""

    code = "bundle_damaged"
    status = 422


class BundleRefused(BundleError):
    """The file holds what no export writes."""

    code = "bundle_refused"
    status = 422


class ImportUnderWay(BundleError):
    """Another import has the bundle or the slug in hand."""

    code = "import_under_way"
    status = 409
