"""What a git source has brought in, and where its copy is."""

from ingest.connectors.git.place import Place
from search.corpus import ensure_source
from search.models import Document, Source


def texts(workspace, tag=""):
    paths = Document.objects.in_workspace(workspace).filter(version__tag=tag).values_list("path", flat=True)
    return {path: "".join(indexed_version(workspace, tag)[path]) for path in paths}


def indexed_version(workspace, tag):
    documents = Document.objects.in_workspace(workspace).filter(version__tag=tag)
    return {
        document.path: [chunk.text for chunk in document.chunks.order_by("ordinal")] for document in documents
    }


def place_of(source):
    return Place.of(source.workspace_id, source.pk)


def source_of(workspace, url, **fields):
    """Give a source that reads the repository at `url`."""
    source = ensure_source(workspace, "repo", kind="git", config={"url": url})
    Source.objects.filter(pk=source.pk).update(**fields)
    source.refresh_from_db()
    return source
