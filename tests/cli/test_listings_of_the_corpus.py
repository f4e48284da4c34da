"""`kebab list sources | documents | spaces | jobs`."""

from ingest.jobs.request import request_document, request_embedding
from kebab.cli.errors import Exit
from search.corpus import ensure_source
from search.models import EmbeddingSpace, Source
from tests.cli.running import run, run_json
from tests.support.corpus import make_workspace, write
from tests.support.searching import embed


def rows(kind, workspace):
    return run_json("list", kind, "--workspace", workspace.slug)["rows"]


def test_sources_are_listed_with_their_documents_counted(workspace):
    write(workspace, "a.md", "one", source="beta")
    write(workspace, "b.md", "two", source="beta")
    ensure_source(workspace, "alpha", kind="folder", config={"path": "/srv/docs"})
    found = rows("sources", workspace)

    assert [(each["key"], each["documents"]) for each in found] == [("alpha", 0), ("beta", 2)]
    assert (found[0]["path"], found[1]["path"]) == ("/srv/docs", None)


def test_documents_are_listed_by_place_with_their_chunks_counted(workspace):
    write(workspace, "b.md", "one", "two")
    write(workspace, "a.md", "one", version="v2", tags=("x",))
    found = rows("documents", workspace)

    assert [(each["path"], each["version"], each["chunks"]) for each in found] == [
        ("b.md", None, 2),
        ("a.md", "v2", 1),
    ]
    assert found[1]["tags"] == ["x"]
    assert len(found[0]["id"]) == 32


def test_spaces_are_listed_with_what_lacks_a_vector(workspace):
    write(workspace, "a.md", "one", "two", "three")
    space = embed(workspace, limit=2)
    (found,) = rows("spaces", workspace)
    assert (found["model"], found["state"], found["vectors"], found["chunks"]) == (space.model, "live", 2, 3)


def test_the_live_space_comes_first(workspace):
    write(workspace, "a.md", "one")
    live = embed(workspace)
    EmbeddingSpace.objects.create(
        workspace=workspace, model="new", revision="1", dim=4, state="building", pk=0
    )
    assert [each["id"] for each in rows("spaces", workspace)] == [live.pk, 0]


def test_jobs_are_listed_newest_first(workspace):
    source = ensure_source(workspace, "uploads", kind="upload")
    request_document(source, {"path": "a.md", "blob": "0" * 64})
    request_embedding(workspace.pk)
    assert [(each["kind"], each["source"]) for each in rows("jobs", workspace)] == [
        ("embed", None),
        ("ingest_document", "uploads"),
    ]


def test_nothing_of_another_workspace_is_listed(workspace):
    write(workspace, "a.md", "one")
    embed(workspace)
    request_embedding(workspace.pk)
    other = make_workspace()
    for kind in ("sources", "documents", "spaces", "jobs"):
        assert run_json("list", kind, "--workspace", other.slug, code=Exit.NOTHING)["rows"] == []
        assert rows(kind, workspace)


def test_people_get_a_table(workspace):
    write(workspace, "a.md", "one")
    Source.objects.update(default_tags=["x", "y"])
    _, out, _ = run("list", "sources")
    header, row = out.splitlines()
    assert header.split()[:2] == ["key", "kind"]
    assert "x, y" in row
