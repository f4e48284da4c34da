"""Each filter narrows both legs and the read-back alike; none makes a list shorter than it has to be."""

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from kebab.people.reader import Reader
from search import node
from search.embedding import query_embedder
from search.mirror.lexical import LexicalLeg
from search.mirror.reading import MirrorReading
from search.models import Document, Source
from search.retrieval.errors import InvalidFilter, InvalidGlob
from search.retrieval.filters import ChunkKind, Media, SearchFilters, TrustLevel
from search.retrieval.gather import candidates_wanted
from search.retrieval.types import Mode
from search.scope import resolve_scope
from search.vectors.leg import VectorLeg
from search.vectors.spaces import live_space
from tests.support.corpus import chunk, write
from tests.support.searching import ask, embed, paths, sync

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def library(workspace):
    """Five documents with the same words, each different in what is said about it."""
    write(workspace, "docs/a.md", "apple tree", tags=("fruit", "plant"), trust_level="primary", lang="en")
    write(workspace, "docs/deep/b.md", "apple tree", tags=("plant",), trust_level="secondary", lang="de")
    write(
        workspace,
        "docs/c.py",
        chunk("apple tree", kind="code", language="python"),
        media="code",
        trust_level="generated",
        lang="und",
    )
    write(workspace, "d.md", "apple tree", source="web", trust_level="unknown")
    write(workspace, "docs/a.md", "apple tree", version="v1", tags=("fruit",))
    Document.objects.update(indexed_at=NOON)
    Document.objects.filter(path="d.md").update(indexed_at=NOON + timedelta(hours=1))
    node.mirror_files(workspace.pk).remove_all()
    sync(workspace)
    embed(workspace)
    return workspace


ALL = {"docs/a.md", "docs/deep/b.md", "docs/c.py", "d.md"}
CASES = [
    ({}, ALL),
    ({"tags_any": ("fruit",)}, {"docs/a.md"}),
    ({"tags_any": ("fruit", "plant")}, {"docs/a.md", "docs/deep/b.md"}),
    ({"tags_any": ("Fruit",)}, set()),
    ({"lang": ("de",)}, {"docs/deep/b.md"}),
    ({"lang": ("de", "und")}, {"docs/deep/b.md", "docs/c.py"}),
    ({"path_glob": ("docs/*",)}, {"docs/a.md", "docs/c.py"}),
    ({"path_glob": ("docs/**/*.md",)}, {"docs/a.md", "docs/deep/b.md"}),
    ({"path_glob": ("*.md",)}, {"d.md"}),
    ({"path_glob": ("**/?.md",)}, {"docs/a.md", "docs/deep/b.md", "d.md"}),
    ({"path_glob": ("docs/[ab].md", "d.md")}, {"docs/a.md", "d.md"}),
    ({"path_glob": ("DOCS/*",)}, set()),
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
    ({"lang": ("en",), "source": ("web",), "trust_min": TrustLevel.UNKNOWN}, {"d.md"}),
    ({"tags_any": ("plant",), "lang": ("en",)}, {"docs/a.md"}),
]


def leg_paths(workspace, filters, leg_of):
    scope = resolve_scope(workspace, SearchFilters(**filters), Reader())
    ids = [candidate.chunk_id for candidate in leg_of(scope).search(100)]
    return sorted(Document.objects.get(chunks__chunk_id=id_, version__tag="").path for id_ in ids)


def test_each_filter_means_the_same_in_both_legs_and_in_hybrid(library):
    for filters, expected in CASES:
        for mode in Mode:
            result = ask(library, "apple tree", mode, **filters)
            assert sorted(paths(result)) == sorted(expected), (mode, filters)
            assert [hit.rank for hit in result.hits] == list(range(1, len(expected) + 1))


def test_the_legs_filter_by_themselves_and_leave_nothing_to_the_read_back(library):
    def lexical(scope):
        return LexicalLeg(
            MirrorReading(node.mirror_files(library.pk), node.reader_pool(), scope, limit_s=60), "apple tree"
        )

    def vector(scope):
        return VectorLeg(live_space(library), scope, "apple tree", query_embedder())

    for filters, expected in CASES:
        for leg_of in (lexical, vector):
            assert leg_paths(library, filters, leg_of) == sorted(expected), filters


def test_a_source_is_named_by_key_or_id(library):
    id_ = Source.objects.get(key="web").pk
    for mode in Mode:
        assert paths(ask(library, "apple", mode, source=(str(id_),))) == ["d.md"]


def test_a_query_without_a_version_sees_the_default_one_alone(library):
    for mode, (version, expected) in product(Mode, [((), None), (("v1",), "v1"), (("v2",), None)]):
        hits = ask(library, "apple", mode, path_glob=("docs/a.md",), version=version).hits
        assert [hit.version for hit in hits] == ([] if version == ("v2",) else [expected]), (mode, version)


def test_a_document_is_named_by_its_id(library):
    (hit,) = ask(library, "apple", source=("web",)).hits
    for mode in Mode:
        assert paths(ask(library, "apple", mode, doc_id=(hit.doc_id,))) == ["d.md"]


def test_a_malformed_glob_or_an_unknown_value_is_refused(library):
    with pytest.raises(InvalidGlob):
        ask(library, "apple", path_glob=("notes/[abc",))
    with pytest.raises(InvalidFilter):
        ask(library, "apple", trust_min=TrustLevel("holy"))


def test_one_document_inside_the_glob_is_found_behind_more_outside_than_a_leg_is_asked_for(workspace):
    for n in range(candidates_wanted(1) + 5):
        write(workspace, f"outside/{n}.md", "apple")
    write(workspace, "inside/one.md", "apple among a good many other words that make it a weaker match")
    sync(workspace)
    embed(workspace)
    for mode in Mode:
        assert paths(ask(workspace, "apple", mode, path_glob=("inside/*",), k=1)) == ["inside/one.md"]


def test_a_filter_that_changes_under_a_lagging_mirror_is_kept_by_the_read_back(library):
    Document.objects.filter(path="docs/a.md").update(tags=[])
    for mode in Mode:
        assert paths(ask(library, "apple", mode, tags_any=("fruit",))) == []
