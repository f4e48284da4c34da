"""Kinds of sources, and what follows from each here; `ingest.connectors.kinds` declares the rest."""

from typing import Final

from django.db import models


class SourceKind(models.TextChoices):
    """Kinds of sources, by connector."""

    UPLOAD = "upload"
    FOLDER = "folder"
    GIT = "git"
    WEB = "web"
    # on `ingest.connectors.records`
    S3 = "s3"
    WEBDAV = "webdav"
    FEED = "feed"
    IMAP = "imap"
    MEDIAWIKI = "mediawiki"
    GITHUB = "github"
    GITLAB = "gitlab"
    PROGRAM = "program"


_SITES: Final = frozenset({SourceKind.WEB, SourceKind.MEDIAWIKI, SourceKind.GITHUB, SourceKind.GITLAB})
#: Kinds whose addresses say what they read. Those of others may be secrets, as of a private feed.
NAMED_BY_ADDRESS: Final = _SITES | {SourceKind.FOLDER, SourceKind.GIT, SourceKind.S3}
#: Kinds whose connectors state the address of a document.
STATING_ADDRESSES: Final = _SITES | {SourceKind.FEED, SourceKind.PROGRAM}
#: Kinds whose documents may state their trust; other documents come from outside: pages, mails, issues.
STATING_TRUST: Final = frozenset(
    {SourceKind.UPLOAD, SourceKind.FOLDER, SourceKind.GIT, SourceKind.S3, SourceKind.WEBDAV}
)


def source_kinds() -> list[tuple[str, str]]:
    """Return the kinds with their labels; migrations name this function, so that a new kind needs none."""
    return SourceKind.choices
