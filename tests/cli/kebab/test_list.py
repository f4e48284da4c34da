"""`kebab list sources | documents | spaces | jobs | libraries`."""

from ingest.jobs.queue.request import request_document, request_embedding
from kebab.exit_codes import Exit
from search.corpus import ensure_source
from search.models import EmbeddingSpace, Source
from tests.cli.commands import run, run_json
from tests.integration.search.libraries.factories import add_library
from tests.support.corpus import make_workspace, write
from tests.support.search import embed


def rows(kind, workspace):
    return run_json("list", kind, "--workspace", workspace.slug)["results"]


def test_sources_are_listed_with_their_places_and_tags(workspace):
    write(workspace, "a.md", "one", source="beta")
    write(workspace, "b.md", "two", source="beta")
    ensure_source(workspace, "alpha", kind="folder", config={"path": "/srv/docs"})
    found = rows("sources", workspace)

    assert [(each["key"], each["document_count"]) for each in found] == [("alpha", 0), ("beta", 2)]
    assert [each["config"].get("path") for each in found] == ["/srv/docs", None]
    Source.objects.update(default_tags=["x", "y"])
    header, *lines = run("list", "sources")[1].splitlines()
    assert header.split()[:2] == ["key", "kind"]
    assert ["x, y" in line for line in lines] == [True, True]


def test_documents_are_listed_by_place_with_their_chunks_counted(workspace):
    write(workspace, "b.md", "one", "two")
    write(workspace, "a.md", "one", version="v2", tags=("x",))
    found = rows("documents", workspace)

    assert [(each["path"], each["version"], each["chunk_count"]) for each in found] == [
        ("a.md", "v2", 1),
        ("b.md", None, 2),
    ]
    assert found[0]["tags"] == ["x"]
    assert len(found[0]["id"]) == 32


def test_spaces_are_listed_live_first_with_what_lacks_a_vector(workspace):
    write(workspace, "a.md", "one", "two", "three")
    live = embed(workspace, limit=2)
    EmbeddingSpace.objects.create(
        workspace=workspace, model="new", revision="1", dim=4, state="building", pk=0
    )
    first, second = rows("spaces", workspace)

    assert (first["model"], first["state"], first["vectors"], first["chunks"]) == (live.model, "live", 2, 3)
    assert (first["id"], second["id"]) == (live.pk, 0)


def test_json_of_a_list_is_the_document_of_the_api(workspace):
    for name in ("a.md", "b.md", "c.md"):
        write(workspace, name, "one")
    for kind, query in (("sources", ""), ("documents", "&order=path"), ("members", ""), ("groups", "")):
        answer = run_json("api", "GET", f"/workspaces/{workspace.slug}/{kind}?limit=2{query}")
        code = Exit.DONE if answer["results"] else Exit.NOTHING
        listed = run_json("list", kind, "--workspace", workspace.slug, "--limit", "2", code=code)
        has_more = [each.pop("next_cursor") is not None for each in (listed, answer)]  # signed with the time
        assert (listed, has_more[0]) == (answer, has_more[1])
    assert run_json("list", "documents", "--limit", "2")["next_cursor"] is not None
    assert [each["slug"] for each in run_json("list", "workspaces")["results"]] == [workspace.slug]


def test_jobs_are_listed_newest_first(workspace):
    source = ensure_source(workspace, "uploads", kind="upload")
    request_document(source, {"path": "a.md", "blob": "0" * 64})
    request_embedding(workspace.pk)
    assert [(each["kind"], each["source"]) for each in rows("jobs", workspace)] == [
        ("embed", None),
        ("ingest_document", "uploads"),
    ]


def test_libraries_are_listed_by_id_with_their_versions(workspace):
    for tag in ("", "v9", "v10"):
        write(workspace, "a.md", "one", source="react", version=tag)
    add_library(workspace, "React", total_snippets=7, trust_score=3.5)
    add_library(workspace, "Preact", state="pending", last_indexed_at=None)
    preact, react = rows("libraries", workspace)

    assert (preact["id"], preact["state"]) == ("/local/preact", "pending")
    assert (react["id"], react["versions"]) == ("/local/react", ["v10", "v9"])
    assert (react["source"], react["snippets"], react["trust_score"]) == ("react", 7, 3.5)
    assert "/local/react" in run("list", "libraries", "--workspace", workspace.slug)[1]


def test_nothing_of_another_workspace_is_listed(workspace, subtests):
    write(workspace, "a.md", "one")
    embed(workspace)
    request_embedding(workspace.pk)
    add_library(workspace, "React")
    other = make_workspace()
    for kind in ("sources", "documents", "spaces", "jobs", "libraries"):
        with subtests.test(kind=kind):
            assert run_json("list", kind, "--workspace", other.slug, code=Exit.NOTHING)["results"] == []
            assert rows(kind, workspace)
