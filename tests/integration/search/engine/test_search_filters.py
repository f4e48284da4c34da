"""Each filter applies to both legs and both checks of candidates, and shortens no list needlessly."""

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from kebab.identity.reader import Reader
from search.access.scope import resolve_scope
from search.embedders.configured import configured_embedder
from search.engine.corpus import Corpus
from search.mirror.query.lexical import LexicalLeg
from search.models import Document, Source
from search.retrieval.errors import InvalidFilter, InvalidGlob
from search.retrieval.fusion.legs import candidate_limit, pack_ids, unpack_ids
from search.retrieval.query.filters import ChunkKind, Media, SearchFilters, TrustLevel
from search.retrieval.query.metadata_filter import parse_metadata_filter
from search.retrieval.types import Mode
from search.vectors.leg import VectorLeg
from search.vectors.spaces import live_space
from tests.support.corpus import chunk, write
from tests.support.search import ask, embed, paths, sync

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
NEW_YEAR = datetime(2024, 1, 1, tzinfo=UTC)


def fill(workspace):
    """Write five documents with the same words and different fields."""
    write(workspace, "docs/a.md", "apple tree", tags=("fruit", "plant"), trust_level="primary", lang="en")
    stated = {"author": "Ada", "date": "2024-01-01"}
    write(
        workspace,
        "docs/deep/b.md",
        "apple tree",
        tags=("plant",),
        trust_level="secondary",
        lang="de",
        metadata=stated,
    )
    code = {"media": "code", "trust_level": "generated", "lang": "und"}
    write(workspace, "docs/c.py", chunk("apple tree", kind="code", language="python"), **code)
    facts = {"team": "ops", "year": 2021, "stack": ["web", "db"], "is": {"draft": False}, "due": "2024-03-01"}
    write(workspace, "d.md", "apple tree", source="web", trust_level="unknown", metadata=facts)
    write(workspace, "docs/a.md", "apple tree", version="v1", tags=("fruit",))
    Document.objects.in_workspace(workspace).update(indexed_at=NOON)
    Document.objects.in_workspace(workspace).filter(path="d.md").update(indexed_at=NOON + timedelta(hours=1))


def metadata(**conditions):
    return {"metadata": parse_metadata_filter(conditions)}


ALL = {"docs/a.md", "docs/deep/b.md", "docs/c.py", "d.md"}
CASES = [
    ({}, ALL),
    ({"tags_any": ("fruit",)}, {"docs/a.md"}),
    ({"tags_any": ("fruit", "plant")}, {"docs/a.md", "docs/deep/b.md"}),
    ({"tags_any": ("Fruit",)}, {"docs/a.md"}),
    ({"lang": ("de",)}, {"docs/deep/b.md"}),
    ({"lang": ("de", "und")}, {"docs/deep/b.md", "docs/c.py"}),
    ({"path_glob": ("docs/*",)}, {"docs/a.md", "docs/c.py"}),
    ({"path_glob": ("docs/**/*.md",)}, {"docs/a.md", "docs/deep/b.md"}),
    ({"path_glob": ("*.md",)}, {"d.md"}),
    ({"path_glob": ("**/?.md",)}, {"docs/a.md", "docs/deep/b.md", "d.md"}),
    ({"path_glob": ("docs/[ab].md", "d.md")}, {"docs/a.md", "d.md"}),
    ({"path_glob": ("DOCS/*",)}, {"docs/a.md", "docs/c.py"}),
    ({"path_glob": ("docs/[A-B].MD",)}, {"docs/a.md"}),
    ({"path_not_glob": ("DOCS/*",)}, {"docs/deep/b.md", "d.md"}),
    ({"lang": ("DE",)}, {"docs/deep/b.md"}),
    ({"path_not_glob": ("docs/*",)}, {"docs/deep/b.md", "d.md"}),
    ({"path_not_glob": ("docs/**", "*.txt")}, {"d.md"}),
    ({"path_not_glob": ("*.txt",)}, ALL),
    ({"path_glob": ("docs/**",), "path_not_glob": ("**/*.py",)}, {"docs/a.md", "docs/deep/b.md"}),
    ({"path_glob": ("docs/*",), "path_not_glob": ("docs/*",)}, set()),
    ({"trust_min": TrustLevel.PRIMARY}, {"docs/a.md"}),
    ({"trust_min": TrustLevel.SECONDARY}, {"docs/a.md", "docs/deep/b.md"}),
    ({"trust_min": TrustLevel.GENERATED}, ALL - {"d.md"}),
    ({"trust_min": TrustLevel.UNKNOWN}, ALL),
    ({"source": ("web",)}, {"d.md"}),
    ({"source": ("web", "docs")}, ALL),
    ({"source": ("nowhere",)}, set()),
    ({"kind": (ChunkKind.CODE,)}, {"docs/c.py"}),
    ({"kind": (ChunkKind.INFO,)}, ALL - {"docs/c.py"}),
    ({"code_lang": ("python",)}, {"docs/c.py"}),
    ({"code_lang": ("PY", "rust")}, {"docs/c.py"}),
    ({"code_lang": ("rust",)}, set()),
    ({"code_lang": ("python",), "kind": (ChunkKind.INFO,)}, set()),
    ({"media": (Media.CODE,)}, {"docs/c.py"}),
    ({"media": (Media.PDF,)}, set()),
    ({"doc_id": ("0" * 32,)}, set()),
    ({"ingested_after": NOON}, {"d.md"}),
    ({"ingested_after": NOON - timedelta(seconds=1)}, ALL),
    ({"author": ("Ada",)}, {"docs/deep/b.md"}),
    ({"author": ("Bob", "Ada")}, {"docs/deep/b.md"}),
    ({"author": ("ADA",)}, {"docs/deep/b.md"}),
    ({"dated_before": NEW_YEAR}, set()),
    ({"dated_before": NEW_YEAR + timedelta(seconds=1)}, {"docs/deep/b.md"}),
    ({"dated_after": NEW_YEAR}, ALL),
    ({"dated_after": NEW_YEAR + timedelta(seconds=1)}, ALL - {"docs/deep/b.md"}),
    ({"dated_after": NEW_YEAR, "dated_before": NOON}, {"docs/deep/b.md"}),
    (metadata(team="ops"), {"d.md"}),
    (metadata(team=["dev", "ops"], year={"gte": 2021, "lt": 2022}), {"d.md"}),
    (metadata(team="Ops"), {"d.md"}),
    (metadata(Team="ops"), set()),
    (metadata(author="ada"), {"docs/deep/b.md"}),
    (metadata(team={"not": ["OPS"]}), ALL - {"d.md"}),
    (metadata(team={"not": ["ops"]}), ALL - {"d.md"}),
    (metadata(team={"exists": True}), {"d.md"}),
    (metadata(team={"exists": False}, author={"exists": False}), {"docs/a.md", "docs/c.py"}),
    (metadata(stack="db"), {"d.md"}),
    (metadata(**{"is.draft": False}), {"d.md"}),
    (metadata(year={"gt": 2021}), set()),
    (metadata(year="2021"), {"d.md"}),
    (metadata(due={"gte": "2024-02-29T23:00:00-02:00"}), set()),
    (metadata(due={"gte": "2024-03-01T01:00:00+02:00", "lt": "2024-03-02"}), {"d.md"}),
    (metadata(date={"lte": "2024-01-01"}), {"docs/deep/b.md"}),
    (metadata(due={"gte": 0}), set()),
    (
        metadata(**{"$or": [{"team": "ops"}, {"author": "Ada", "date": {"exists": True}}]}),
        {"d.md", "docs/deep/b.md"},
    ),
    (metadata(**{"$and": [{"year": {"gt": 2020}}, {"$or": [{"team": "ops"}, {"team": "x"}]}]}), {"d.md"}),
    (metadata(**{"$or": [{"team": {"not": "ops"}}, {"year": {"gt": 2020}}]}), ALL),
    (metadata(**{"$or": [{"team": "dev"}, {"year": {"lt": 2020}}]}), set()),
    ({"lang": ("en",), "source": ("web",), "trust_min": TrustLevel.UNKNOWN}, {"d.md"}),
    ({"tags_any": ("plant",), "lang": ("en",)}, {"docs/a.md"}),
]


def find_words(corpus, ids):
    with corpus.open_mirror() as view:
        return LexicalLeg(view, "apple tree").search(100).ids


def find_vectors(corpus, ids):
    space = live_space(corpus.workspace)
    return VectorLeg(space, "apple tree", configured_embedder(), corpus.find_nearest).search(100).ids


def check(corpus, ids):
    return ids[corpus.check_visible(ids)]


CHECKS = [(find_words, True), (find_vectors, True), (check, True), (check, False)]


def test_filter_narrows_what_both_legs_find(filled, subtests):
    for filters, expected in CASES:
        with subtests.test(filters=filters):
            result = ask(filled, "apple tree", Mode.HYBRID, **filters)
            assert sorted(paths(result)) == sorted(expected)
            assert [hit.rank for hit in result.hits] == list(range(1, len(expected) + 1))


def test_filters_restrict_each_leg_and_candidate_check(filled, subtests):
    rows = Document.objects.in_workspace(filled).values_list("chunks__chunk_id", "path", "version__tag")
    name_of = {chunk_id.hex: f"{path}{tag}" for chunk_id, path, tag in rows}
    ids = pack_ids(sorted([*name_of, "0" * 32]))
    for (filters, expected), (find, trusts_mirror) in product(CASES, CHECKS):
        with subtests.test(filters=filters, find=find.__name__, trusts_mirror=trusts_mirror):
            scope = resolve_scope(filled, SearchFilters(**filters), Reader())
            found = find(Corpus(filled, scope, trusts_mirror=trusts_mirror), ids)
            assert sorted(name_of[id_] for id_ in unpack_ids(found)) == sorted(expected)


def test_source_is_named_by_its_id_and_document_by_its_own(filled):
    source_id = Source.objects.in_workspace(filled).get(key="web").pk
    (hit,) = ask(filled, "apple", source=("web",)).hits
    for mode in Mode:
        assert paths(ask(filled, "apple", mode, source=(str(source_id),))) == ["d.md"]
        assert paths(ask(filled, "apple", mode, doc_id=(hit.doc_id,))) == ["d.md"]


def test_query_without_a_version_sees_the_default_one_alone(filled):
    for mode, (version, expected) in product(Mode, [((), [None]), (("v1",), ["v1"]), (("v2",), [])]):
        hits = ask(filled, "apple", mode, path_glob=("docs/a.md",), version=version).hits
        assert [hit.version for hit in hits] == expected, (mode, version)


def test_malformed_glob_or_unknown_value_is_refused(filled):
    with pytest.raises(InvalidGlob):
        ask(filled, "apple", path_glob=("notes/[abc",))
    with pytest.raises(InvalidFilter):
        ask(filled, "apple", trust_min=TrustLevel("holy"))


def test_read_back_applies_filters_changed_since_the_mirror(filled):
    Document.objects.in_workspace(filled).filter(path="docs/a.md").update(tags=[])
    for mode in Mode:
        assert paths(ask(filled, "apple", mode, tags_any=("fruit",))) == []


def test_filtered_document_is_found_behind_many_better_unfiltered_ones(workspace):
    write(workspace, "outside/all.md", *["apple"] * (candidate_limit(1) + 5))
    write(workspace, "inside/one.md", "apple among a good many other words that make it a weaker match")
    sync(workspace)
    embed(workspace)
    for mode in Mode:
        assert paths(ask(workspace, "apple", mode, path_glob=("inside/*",), k=1)) == ["inside/one.md"]
