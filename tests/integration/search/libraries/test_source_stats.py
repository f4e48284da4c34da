"""A library's id, number of snippets and trust score."""

import threading
from datetime import timedelta
from importlib import import_module

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from kebab.tenancy.current_workspace import acting_everywhere
from search.corpus import ensure_source, ensure_version
from search.libraries.source_stats import refresh_source_stats, refresh_upload_stats
from search.models import Source, SourceVersion
from tests.support.corpus import make_workspace, write


def add(workspace, key, **fields):
    kind = "git" if "url" in fields.get("config", {}) else "folder"
    return Source.objects.create(workspace=workspace, key=key, kind=kind, **fields)


def fresh(source):
    return Source.objects.get(pk=source.pk)


def test_library_id_is_derived_from_title_or_repository(workspace):
    assert ensure_source(workspace, "docs", kind="upload").library_id == "/local/docs"
    assert add(workspace, "handbook", title="Our Handbook").library_id == "/local/our-handbook"
    repository = add(workspace, "react", config={"url": "https://github.com/facebook/react.git"})
    assert repository.library_id == "/facebook/react"
    assert (repository.is_on_git_host, fresh(repository).is_on_git_host) == (True, True)
    repository.title = "Handbook"
    repository.save()
    assert (fresh(repository).library_id, fresh(repository).title) == ("/facebook/react", "Handbook")


def test_ids_and_keys_are_unique(workspace):
    ids = [add(workspace, f"docs{number}", title="Docs").library_id for number in range(3)]
    assert ids == ["/local/docs", "/local/docs-2", "/local/docs-3"]
    assert add(make_workspace(), "docs", title="Docs").library_id == "/local/docs"
    with pytest.raises(IntegrityError, match="source_library_id_once"), transaction.atomic():
        add(workspace, "b", library_id="/local/docs")
    with pytest.raises(IntegrityError, match="source_key_once"), transaction.atomic():
        add(workspace, "docs1", title="Docs")


@pytest.mark.django_db(transaction=True)
def test_sources_made_at_the_same_time_get_ids_of_their_own():
    workspace = make_workspace()
    gate = threading.Barrier(6)

    @acting_everywhere()
    def make(number):
        try:
            gate.wait()
            add(workspace, f"docs{number}", title="Docs")
        finally:
            connection.close()

    threads = [threading.Thread(target=make, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ids = set(Source.objects.in_workspace(workspace).values_list("library_id", flat=True))

    assert ids == {"/local/docs", *(f"/local/docs-{number}" for number in range(2, 7))}


def test_migration_gives_existing_sources_unique_library_ids(workspace):
    for number in range(3):
        add(workspace, f"docs{number}", title="Docs", library_id=f"old-{number}")
    elsewhere = add(make_workspace(), "docs", title="Docs", library_id="old")
    import_module("search.migrations.0003_libraries").give_library_ids(apps, connection.schema_editor())
    ids = Source.objects.in_workspace(workspace).order_by("key").values_list("library_id", flat=True)
    assert list(ids) == ["/local/docs", "/local/docs-2", "/local/docs-3"]
    assert fresh(elsewhere).library_id == "/local/docs"


def test_migration_computes_statistics_of_existing_sources(workspace):
    write(workspace, "a.md", "one", "two")
    write(workspace, "a.md", "old", version="v1")
    add(workspace, "folder", description="All.")
    Source.objects.update(trust_score=9.9, total_snippets=99)
    import_module("search.migrations.0003_libraries").note_standing(apps, connection.schema_editor())
    docs, folder = Source.objects.in_workspace(workspace).order_by("key")
    assert (docs.total_snippets, docs.trust_score, docs.state) == (2, 1.0, "indexed")
    assert docs.last_indexed_at == docs.documents.latest("indexed_at").indexed_at
    assert (folder.total_snippets, folder.trust_score, folder.state) == (0, 1.0, "pending")
    assert folder.last_indexed_at is None


def test_total_counts_the_chunks_of_the_default_branch(workspace):
    write(workspace, "a.md", "one", "two")
    write(workspace, "b.md", "three")
    write(workspace, "a.md", "four", version="v1")
    write(workspace, "a.md", "five", source="other")
    source = Source.objects.in_workspace(workspace).get(key="docs")
    refresh_source_stats(workspace.pk, source.pk)
    assert fresh(source).total_snippets == 3


def test_refresh_corrects_wrong_source_statistics(workspace):
    write(workspace, "a.md", "one")
    source = Source.objects.in_workspace(workspace).get()
    Source.objects.update(total_snippets=99, trust_score=9.9)
    for _ in range(2):
        refresh_source_stats(workspace.pk, source.pk)
    assert (fresh(source).total_snippets, fresh(source).trust_score) == (1, 0.0)
    source = ensure_source(workspace, "docs", kind="upload")
    Source.objects.all().delete()
    refresh_source_stats(workspace.pk, source.pk, title="x")


def test_trust_score_is_updated_with_stars_and_description(workspace):
    source = add(workspace, "react", config={"url": "https://github.com/facebook/react"}, stars=999)
    assert fresh(source).trust_score == 4.0
    refresh_source_stats(workspace.pk, source.pk)
    assert fresh(source).trust_score == 4.0
    refresh_source_stats(workspace.pk, source.pk, description="A library.")
    assert (fresh(source).trust_score, fresh(source).description) == (5.0, "A library.")
    refresh_source_stats(workspace.pk, source.pk, description=" ", stars=None)
    assert fresh(source).trust_score == 1.0


def test_uploads_are_indexed_once_there_is_a_document(workspace):
    source = ensure_source(workspace, "docs", kind="upload")
    refresh_upload_stats(workspace.pk, source.pk)
    assert (fresh(source).state, fresh(source).last_indexed_at) == ("pending", None)
    write(workspace, "a.md", "one")
    refresh_upload_stats(workspace.pk, source.pk)
    assert (fresh(source).state, fresh(source).total_snippets) == ("indexed", 1)
    assert fresh(source).trust_score == 1.0
    assert fresh(source).last_indexed_at is not None


def test_statistics_of_ongoing_uploads_are_refreshed_every_few_seconds(workspace):
    source = ensure_source(workspace, "docs", kind="upload")
    write(workspace, "a.md", "one")
    refresh_upload_stats(workspace.pk, source.pk, more_follow=True)
    assert (fresh(source).state, fresh(source).total_snippets) == ("indexed", 1)
    write(workspace, "b.md", "two")
    refresh_upload_stats(workspace.pk, source.pk, more_follow=True)
    assert fresh(source).total_snippets == 1
    Source.objects.update(last_indexed_at=timezone.now() - timedelta(seconds=6))
    refresh_upload_stats(workspace.pk, source.pk, more_follow=True)
    assert fresh(source).total_snippets == 2
    write(workspace, "c.md", "three")
    refresh_upload_stats(workspace.pk, source.pk)
    assert fresh(source).total_snippets == 3


def test_a_version_takes_the_title_that_the_project_file_gave_it(workspace):
    source = add(workspace, "docs", project={"versions": {"v1": "The first"}})
    assert [ensure_version(source, tag).title for tag in ("v1", "v2", "")] == ["The first", "", ""]
    assert SourceVersion.objects.get(tag="v1").title == "The first"
