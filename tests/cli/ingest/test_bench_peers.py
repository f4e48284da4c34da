"""`kebab bench --peers`: peers are asked the same as Kebab, and find what there is."""

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
from tests.cli.ingest.beir_folder import write_beir
from tests.cli.ingest.stub_server import serving
from tests.cli.running import error_of, run_json
from tests.support.corpus import chunk, make_workspace, write
from tests.support.searching import sync

pytestmark = pytest.mark.slow

FRUIT = {"apple": "apples are harvested in autumn", "pear": "pears ripen in summer", "plum": "plums are blue"}
DOCUMENTS = [{"_id": name, "title": "", "text": text} for name, text in FRUIT.items()]


@pytest.fixture(autouse=True)
def _patient(settings, mirrors, tmp_path):
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
    queries = {"q1": "apples in autumn", "q2": "blue plums"}
    return write_beir(tmp_path / "fruit", DOCUMENTS, queries, "q1\tapple\t1\nq2\tplum\t1\n")


def test_peer_gets_the_chunks_that_have_a_vector_in_id_order(stored):
    write(stored, "late.md", chunk("written after the embedding"))
    corpus = Corpus.of(stored)
    assert len(corpus) == 3
    assert corpus.chunk_ids == sorted(corpus.chunk_ids)
    assert set(corpus.texts) == set(FRUIT.values())
    assert corpus.passages[0] == f"{corpus.breadcrumbs[0]}\n{corpus.texts[0]}"
    own = HashEmbedder().embed_passages(corpus.passages)
    np.testing.assert_allclose(corpus.vectors, own, atol=1e-3)


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_peer_finds_the_chunk_that_is_asked_for(stored, tmp_path, peer):
    if peer.missing is not None:
        pytest.skip(peer.missing)
    corpus, query = Corpus.of(stored), "blue plums"
    with opened_in(tmp_path, peer, corpus) as search:
        found = search(query, HashEmbedder().embed_query(query), 2)
    assert corpus.texts[corpus.chunk_ids.index(found[0])] == FRUIT["plum"]
    assert len(found) <= 2


def test_speed_of_a_workspace_is_compared_and_missing_peers_are_named(stored, only_what_kebab_has):
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


def test_workspace_without_vectors_can_not_be_compared(transactional_db):
    workspace = make_workspace()
    write(workspace, "a.md", "apple")
    error_of("bench", "--peers", "--workspace", workspace.slug, code=2)


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


def test_set_is_judged_only_beside_peers(judged_set, db):
    assert "--peers" in error_of("bench", "--beir", str(judged_set), code=2)["message"]


def test_installed_peer_takes_part(monkeypatch):
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


def test_servers_get_the_same_queries(db):
    queries = [f"q{number}" for number in range(40)]
    with serving() as (one, one_url), serving() as (other, other_url):
        clients = {
            name: Client(
                name=name,
                url=url,
                request=lambda text: Asked(path=f"/{text}"),
            )
            for name, url in (("one", one_url), ("other", other_url))
        }
        crowds = crowds_by_turns(clients, queries)
    for server in (one, other):
        assert sorted(path for path, _ in server.asked) == sorted(f"/{query}" for query in queries)
    warm_up = 16
    assert {len(crowd.seconds) for crowd in crowds.values()} == {len(queries) - warm_up}
    assert all(crowd.rate > 0 for crowd in crowds.values())
