"""What is the same in two versions of a source is kept and embedded once."""

from pathlib import Path

from search.models import ChunkVector, Document
from tests.support.jobs import drop_embedding_jobs, embed, fill, sync


def blobs(settings):
    root = Path(settings.STORAGES["default"]["OPTIONS"]["location"])
    return sum(file.is_file() for file in root.rglob("*"))


def hashes(workspace, tag):
    documents = Document.objects.in_workspace(workspace).filter(version__tag=tag)
    return dict(documents.values_list("path", "content_hash"))


def test_an_unchanged_row_shares_content_and_vector_with_its_other_version(
    workspace, folder, source, settings, tmp_path
):
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": str(tmp_path / "blobs")},
        },
    }
    fill(folder, {"a.md": "alpha\n", "b.md": "beta\n"})
    sync(source)
    drop_embedding_jobs()
    assert embed(workspace).calls == 2
    fill(folder, {"b.md": "better\n"})
    sync(source, version="v1")
    drop_embedding_jobs()

    assert embed(workspace).calls == 1
    assert hashes(workspace, "")["a.md"] == hashes(workspace, "v1")["a.md"]
    assert hashes(workspace, "")["b.md"] != hashes(workspace, "v1")["b.md"]
    assert blobs(settings) == 3
    vectors = ChunkVector.objects.in_workspace(workspace)
    assert (vectors.count(), vectors.values("embed_hash").distinct().count()) == (4, 3)
