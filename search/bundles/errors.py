"""Errors of bundles and of writing and reading them."""

from search.errors import CorpusError


class BundleError(CorpusError):
    """A bundle can't be written or read; the message names the problem and the remedy."""

    code = "bundle_error"


class BundleExists(BundleError):
    """The target file exists already; an export replaces it only on request."""

    code = "bundle_exists"
    status = 409


class BundleUnreadable(BundleError):
    """The file is missing or can't be read."""

    code = "bundle_unreadable"
    status = 404


class NotABundle(BundleError):
    """The file is not a bundle."""

    code = "not_a_bundle"
    status = 422


class BundleTooNew(BundleError):
    """The file has the format of a later release of Kebab."""

    code = "bundle_too_new"
    status = 422


class BundleDamaged(BundleError):
    """The file is truncated, or has bytes other than those that were written."""

    code = "bundle_damaged"
    status = 422


class BundleRefused(BundleError):
    """The file has content that no export writes."""

    code = "bundle_refused"
    status = 422


class ImportUnderWay(BundleError):
    """Another import is processing the bundle or the slug."""

    code = "import_under_way"
    status = 409
