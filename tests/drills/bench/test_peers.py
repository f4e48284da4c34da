"""Comparison of Kebab with its peers."""

import pytest

from ingest.cli.judged_documents import embed_all
from kebab.identity.models import Workspace
from search.embedders.hash_embedder import HashEmbedder
from tests.cli.commands import run_json
from tests.cli.ingest.beir_folder import write_beir
from tests.cli.ingest.stub_server import serving
from tests.drills.bench.budgets.clients import Client, ClientRequest
from tests.drills.bench.command import Command
from tests.drills.bench.peers import registry, servers
from tests.drills.bench.peers.corpus import Corpus
from tests.drills.bench.peers.registry import PEERS, open_peer
from tests.drills.bench.peers.servers import SERVERS, crowds_by_turns
from tests.drills.bench.peers.speed import by_turns
from tests.support.corpus import chunk, make_workspace, write
from tests.support.search import sync

FRUIT = {"apple": "apples are harvested in autumn", "pear": "pears ripen in summer", "plum": "plums are blue"}


@pytest.fixture(autouse=True)
def _one_parser(settings, mirrors):
    settings.KEBAB_PARSERS = 1


@pytest.fixture
def without_peer_packages(monkeypatch):
    """Pretend that no peer's package is installed."""
    for module in (registry, servers):
        monkeypatch.setattr(module, "installed_version", lambda package: None)


@pytest.fixture
def indexed_workspace(transactional_db):
    """Return a workspace with vectors that other connections see."""
    workspace = make_workspace()
    for name, text in FRUIT.items():
        write(workspace, f"{name}.md", chunk(text, heading=f"Fruit > {name.title()}"))
    embed_all(workspace, lambda _: None)
    sync(workspace)
    return workspace


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_peer_finds_the_expected_chunk(indexed_workspace, tmp_path, peer):
    if peer.missing is not None:
        pytest.skip(peer.missing)
    corpus, query = Corpus.of(indexed_workspace), "blue plums"
    with open_peer(tmp_path, peer, corpus) as search:
        found = search(query, HashEmbedder().embed_query(query), 2)
    assert corpus.texts[corpus.chunk_ids.index(found[0])] == FRUIT["plum"]
    assert len(found) <= 2


def test_peers_compares_speed_and_names_missing_peers(indexed_workspace, without_peer_packages):
    peers = run_json(Command(), "peers", "--workspace", indexed_workspace.slug, "--queries", "3")["peers"]
    assert [(row["group"], row["system"]) for row in peers["speed"]] == [
        ("lexical", "Kebab"),
        ("lexical", "SQLite FTS5"),
        ("vector", "Kebab"),
        ("vector", "Kebab, vector given"),
        ("hybrid", "Kebab"),
        ("hybrid", "Kebab, vector given"),
        ("hybrid", "Postgres SQL fusion"),
    ]
    assert (peers["http"], peers["quality"]) == ([], [])
    assert peers["skipped"].keys() == {
        *(peer.name for peer in PEERS if peer.packages),
        *(f"{server.name}'s server" for server in SERVERS),
        "HTTP",
    }


def test_peers_measures_quality_on_a_judged_set(transactional_db, tmp_path, without_peer_packages):
    documents = [{"_id": name, "title": "", "text": text} for name, text in FRUIT.items()]
    queries = {"q1": "apples in autumn", "q2": "blue plums"}
    folder = write_beir(tmp_path / "fruit", documents, queries, "q1\tapple\t1\nq2\tplum\t1\n")
    report = run_json(Command(), "peers", "--beir", str(folder))
    rows = {(row["group"], row["system"]): row for row in report["peers"]["quality"]}
    assert rows.keys() == {
        ("lexical", "Kebab"),
        ("lexical", "SQLite FTS5"),
        ("vector", "Kebab"),
        ("hybrid", "Kebab"),
        ("hybrid", "Postgres SQL fusion"),
    }
    assert rows["lexical", "SQLite FTS5"]["nDCG@10"] == 1.0
    assert {row["set"] for row in rows.values()} == {"fruit"}
    assert not Workspace.objects.exists()


def test_by_turns_sends_each_query_to_all_systems_and_rotates_the_first():
    sent = []
    senders = {name: (lambda text, name=name: sent.append((text, name))) for name in "abc"}
    seconds = by_turns(senders, ["1", "2", "3"], prepare=lambda name, text: None, warm_up=0)
    assert [text for text, _ in sent] == ["1"] * 3 + ["2"] * 3 + ["3"] * 3
    assert [sent[place][1] for place in (0, 3, 6)] == ["a", "b", "c"]
    assert {name: len(each) for name, each in seconds.items()} == {"a": 3, "b": 3, "c": 3}


def test_every_server_gets_the_same_queries(db):
    queries = [f"q{number}" for number in range(40)]
    with serving() as (one, one_url), serving() as (other, other_url):
        clients = {
            url: Client(name=url, url=url, request=lambda text: ClientRequest(path=f"/{text}"))
            for url in (one_url, other_url)
        }
        crowds = crowds_by_turns(clients, queries)
    for server in (one, other):
        assert sorted(path for path, _ in server.asked) == sorted(f"/{query}" for query in queries)
    warm_up = 16
    assert {len(crowd.seconds) for crowd in crowds.values()} == {len(queries) - warm_up}
