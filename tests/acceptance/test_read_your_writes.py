import os
import signal

import psutil
import pytest


def paths(client, query: str, **parameters) -> list[str]:
    answer = client.search(query, mode="lexical", **parameters)
    return [hit["doc_path"] for hit in answer["hits"]]


@pytest.fixture
def suspended_embedder(stack):
    """Suspend the embedding worker, so that chunks wait for their vectors."""
    worker = psutil.Process(stack.pids()["embedder"])
    family = [worker, *worker.children(recursive=True)]
    for process in family:
        process.suspend()
    yield
    for process in family:
        os.kill(process.pid, signal.SIGCONT)


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_awaited_upload_is_in_the_next_search(client, mode):
    for number in range(5):
        answer = client.upload(
            f"{number}.md", f"# Note\n\nThe word is kestrel{number}.\n", wait_for="searchable"
        )
        found = client.search(f"kestrel{number}", mode=mode)
        assert found["hits"][0]["doc_path"] == f"{number}.md"
        assert found["seq"] >= answer["seq"]


@pytest.mark.slow
def test_upload_is_searchable_while_chunks_wait_for_their_vectors(client, suspended_embedder):
    client.upload(
        "long.md", "\n\n".join(f"# Part {n}\n\nText {n}." for n in range(500)), wait_for="searchable"
    )
    client.upload("new.md", "# New\n\nA heron at the weir.\n", wait_for="searchable")
    assert paths(client, "heron weir") == ["new.md"]


def test_replaced_and_deleted_text_is_not_found_any_more(client):
    first = client.upload("plan.md", "# Plan\n\nMeet at the viaduct.\n", wait_for="searchable")
    assert paths(client, "viaduct") == ["plan.md"]
    client.upload("plan.md", "# Plan\n\nMeet at the aqueduct.\n", wait_for="searchable")
    assert paths(client, "aqueduct") == ["plan.md"]
    assert paths(client, "viaduct") == []
    gone = client.request("DELETE", f"/documents/{first['document']['id']}")
    assert gone.status_code == 204
    assert paths(client, "aqueduct", min_seq=int(gone.headers["Kebab-Seq"])) == []


def test_events_of_a_job_are_ordered_and_end_with_its_report(client):
    accepted = client.upload("event.md", "# Event\n\nIt happens.\n")
    events = list(client.events(accepted["job"]["id"]))
    names = [name for name, _ in events]
    assert names[-1] == "end"
    assert set(names[:-1]) <= {"progress"}
    done = [job["items_done"] for _, job in events]
    assert done == sorted(done)
    end = events[-1][1]
    assert (end["state"], end["items_done"], end["report"]["new"]) == ("succeeded", 1, 1)
