"""Peers beside Kebab: which take part, that each is asked the same, and that each finds what there is."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from ingest.cli.bench.clients import Asked, Client
from ingest.cli.bench.peers import comparing, registry, servers
from ingest.cli.bench.peers.corpus import Corpus
from ingest.cli.bench.peers.registry import PEERS, opened_in
from ingest.cli.bench.peers.servers import SERVERS, crowds_by_turns
from ingest.cli.bench.peers.speed import by_turns
from ingest.cli.judged_documents import embed_all
from kebab.people.models import Workspace
from search.embedders.hashing import HashEmbedder
from tests.cli.running import error_of, run_json
from tests.support.corpus import chunk, make_workspace, write
from tests.support.searching import sync

FRUIT = {"apple": "apples are harvested in autumn", "pear": "pears ripen in summer", "plum": "plums are blue"}
DOCUMENTS = [{"_id": name, "title": "", "text": text} for name, text in FRUIT.items()]


@pytest.fixture(autouse=True)
def _patient(settings, mirrors, tmp_path):
    settings.KEBAB_LEG_LIMIT_MS = 60_000
    settings.KEBAB_PARSERS = 1


@pytest.fixture
def only_what_kebab_has(monkeypatch):
    """No peer's package is installed."""
    for module in (registry, servers):
        monkeypatch.setattr(module, "installed_version", lambda package: None)


@pytest.fixture
def stored(transactional_db):
    """A workspace with vectors whose rows other connections see."""
    workspace = make_workspace()
    for name, text in FRUIT.items():
        write(workspace, f"{name}.md", chunk(text, heading=f"Fruit > {name.title()}"))
    embed_all(workspace, lambda _: None)
    sync(workspace)
    return workspace


@pytest.fixture
def judged_set(tmp_path):
    folder = tmp_path / "fruit"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, DOCUMENTS)))
    queries = {"q1": "apples in autumn", "q2": "blue plums"}
    rows = [json.dumps({"_id": query_id, "text": text}) for query_id, text in queries.items()]
    (folder / "queries.jsonl").write_text("\n".join(rows))
    (folder / "qrels" / "test.tsv").write_text("q1\tapple\t1\nq2\tplum\t1\n")
    return folder


def test_a_peer_gets_the_chunks_that_have_a_vector_in_id_order(stored):
    write(stored, "late.md", chunk("written after the embedding"))
    corpus = Corpus.of(stored)
    assert len(corpus) == 3
    assert corpus.chunk_ids == sorted(corpus.chunk_ids)
    assert set(corpus.texts) == set(FRUIT.values())
    assert corpus.passages[0] == f"{corpus.breadcrumbs[0]}\n{corpus.texts[0]}"
    own = HashEmbedder().embed_passages(corpus.passages)
    np.testing.assert_allclose(corpus.vectors, own, atol=1e-3)


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_a_peer_finds_the_chunk_that_is_asked_for(stored, tmp_path, peer):
    if peer.missing is not None:
        pytest.skip(peer.missing)
    corpus, query = Corpus.of(stored), "blue plums"
    with opened_in(tmp_path, peer, corpus) as search:
        found = search(query, HashEmbedder().embed_query(query), 2)
    assert corpus.texts[corpus.chunk_ids.index(found[0])] == FRUIT["plum"]
    assert len(found) <= 2


def test_the_speed_of_a_workspace_is_compared_and_missing_peers_are_named(stored, only_what_kebab_has):
    peers = run_json("bench", "--peers", "--workspace", stored.slug, "--queries", "3")["peers"]
    assert [(row["group"], row["system"]) for row in peers["speed"]] == [
        ("lexical", "Kebab"),
        ("lexical", "SQLite FTS5"),
        ("vector", "Kebab"),
        ("vector", "Kebab, vector given"),
        ("hybrid", "Kebab"),
        ("hybrid", "Kebab, vector given"),
        ("hybrid", "Postgres SQL fusion"),
    ]
    own = {row["group"]: row for row in peers["speed"] if row["system"] == "Kebab"}
    for row in peers["speed"]:
        assert row["p50_ratio"] == pytest.approx(row["p50_ms"] / own[row["group"]]["p50_ms"], rel=0.05)
    assert (peers["http"], peers["quality"]) == ([], [])
    assert peers["skipped"].keys() == {
        *(peer.name for peer in PEERS if peer.packages),
        *(f"{server.name}'s server" for server in SERVERS),
        "HTTP",
    }
    assert peers["skipped"]["Tantivy"] == "tantivy not installed (deploy/requirements-peers.txt)"


def test_a_workspace_without_vectors_can_not_be_compared(transactional_db):
    workspace = make_workspace()
    write(workspace, "a.md", "apple")
    error = error_of("bench", "--peers", "--workspace", workspace.slug, code=2)
    assert "embed it first" in error["message"]


def test_peers_are_judged_on_a_set_beside_kebab(transactional_db, judged_set, only_what_kebab_has):
    report = run_json("bench", "--peers", "--beir", str(judged_set))
    rows = {(row["group"], row["system"]): row for row in report["peers"]["quality"]}
    assert report["peers"]["speed"] == []
    assert rows.keys() == {
        ("lexical", "Kebab"),
        ("lexical", "SQLite FTS5"),
        ("vector", "Kebab"),
        ("hybrid", "Kebab"),
        ("hybrid", "Postgres SQL fusion"),
    }
    assert rows["lexical", "SQLite FTS5"]["nDCG@10"] == 1.0
    assert {row["set"] for row in rows.values()} == {"fruit"}
    assert all(row["kebab_ahead_by"] <= 0 for row in rows.values() if row["system"] == "Kebab")
    assert not Workspace.objects.exists()


def test_a_set_is_judged_only_beside_peers(judged_set, db):
    assert "--beir without --peers" in error_of("bench", "--beir", str(judged_set), code=2)["message"]


def test_an_installed_peer_takes_part(monkeypatch):
    monkeypatch.setattr(registry, "installed_version", {"tantivy": "1.2"}.get)
    peers, _ = comparing.installed()
    assert [peer.label for peer in peers] == ["SQLite FTS5", "Tantivy 1.2", "Postgres SQL fusion"]
    assert "Tantivy" not in comparing.not_installed()


def test_every_query_is_asked_of_all_before_the_next_and_none_is_always_first():
    asked = []
    asks = {name: (lambda text, name=name: asked.append((text, name))) for name in "abc"}
    prepared = []
    seconds = by_turns(asks, ["1", "2", "3"], prepare=lambda name, text: prepared.append(name), warm_up=0)
    assert [text for text, _ in asked] == ["1"] * 3 + ["2"] * 3 + ["3"] * 3
    assert [asked[place][1] for place in (0, 3, 6)] == ["a", "b", "c"]
    assert [name for _, name in asked] == prepared
    assert {name: len(each) for name, each in seconds.items()} == {"a": 3, "b": 3, "c": 3}


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.asked.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@contextmanager
def _server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answer)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_servers_get_the_same_queries(db):
    queries = [f"q{number}" for number in range(40)]
    with _server() as one, _server() as other:
        clients = {
            name: Client(
                name=name,
                url=f"http://127.0.0.1:{server.server_port}",
                request=lambda text: Asked(path=f"/{text}"),
            )
            for name, server in (("one", one), ("other", other))
        }
        crowds = crowds_by_turns(clients, queries)
    assert sorted(one.asked) == sorted(other.asked) == sorted(f"/{query}" for query in queries)
    warm_up = 16
    assert {len(crowd.seconds) for crowd in crowds.values()} == {len(queries) - warm_up}
    assert all(crowd.rate > 0 for crowd in crowds.values())


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
def test_a_peers_server_answers_queries(stored, tmp_path, server):
    if server.missing is not None:
        pytest.skip(server.missing)
    queries = {text: HashEmbedder().embed_query(text) for text in ("blue plums", "ripe pears & more")}
    with server.opened(Corpus.of(stored), queries, tmp_path) as client:
        connection = client.connect()
        answers = [client.ask(connection, text)[1] for text in queries]
        connection.close()
    assert all(json.loads(answer) for answer in answers)
