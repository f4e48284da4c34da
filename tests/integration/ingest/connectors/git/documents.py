"""Helpers for the documents of a git source and its local copy."""

from ingest.connectors.git.credentials import Credentials, encrypt_credentials
from ingest.connectors.git.local_copy import CopyPaths
from search.corpus import ensure_source
from search.models import Document, Source


def texts(workspace, tag=""):
    """Return the text of each document of a version, by path."""
    documents = Document.objects.in_workspace(workspace).filter(version__tag=tag)
    return {
        document.path: "".join(chunk.text for chunk in document.chunks.order_by("ordinal"))
        for document in documents
    }


def place_of(source):
    return CopyPaths.of(source.workspace_id, source.pk)


def source_of(workspace, url, *, key="repo", **credentials):
    """Return a source that reads the repository at `url`."""
    source = ensure_source(workspace, key, kind="git", config={"url": url})
    if credentials:
        sealed = encrypt_credentials(Credentials(**credentials))
        Source.objects.filter(pk=source.pk).update(sealed_credentials=sealed)
    source.refresh_from_db()
    return source
