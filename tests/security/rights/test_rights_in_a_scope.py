"""Sources that a search may read, resolved by its first statement."""

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kebab.identity.models import Group
from kebab.identity.reader import OPERATOR, Reader
from search.access.restrictions import visible_sources
from search.access.scope import Sources, resolve_scope
from search.models import Source, SourceReader
from search.retrieval.query.filters import SearchFilters
from tests.security.rights.vault import CANARIES
from tests.support.corpus import make_place, make_workspace

KEYS = ["a", "b", "c", "d"]


def scope(workspace, reader, *names):
    return resolve_scope(workspace, SearchFilters(source=names), reader)


def sources_in(narrowed):
    """Return the sources by which Postgres narrows, the only condition."""
    ((sources,),) = (each.values for each in narrowed.narrowing)
    return sources


def keys_of(sources):
    return None if sources is None else sources.keys


@pytest.mark.parametrize("reader", [Reader(), OPERATOR])
def test_scope_is_unrestricted_without_restricted_sources(workspace, reader):
    make_place(workspace)
    narrowed = scope(workspace, reader)
    assert (narrowed.sources, narrowed.readable, narrowed.narrowing) == (None, None, ())


def test_scope_is_unrestricted_for_readers_of_all_restricted_sources(vault):
    for reader in (vault.inside, OPERATOR):
        narrowed = scope(vault.workspace, reader)
        assert (narrowed.sources, narrowed.readable) == (None, None)


def test_scope_of_others_has_the_readable_sources(vault):
    for reader in (Reader(), vault.outside):
        narrowed = scope(vault.workspace, reader)
        assert keys_of(narrowed.sources) == keys_of(narrowed.readable) == ("docs",)
        assert sources_in(narrowed) == narrowed.sources


def test_source_without_a_reader_is_hidden_from_all_but_admins(vault):
    SourceReader.objects.all().delete()
    assert keys_of(scope(vault.workspace, vault.inside).sources) == ("docs",)
    assert scope(vault.workspace, OPERATOR).sources is None


def test_scope_is_empty_when_everything_is_hidden(vault):
    Source.objects.in_workspace(vault.workspace).update(is_restricted=True)
    narrowed = scope(vault.workspace, Reader())
    assert narrowed.sources == narrowed.readable == Sources()
    assert sources_in(narrowed) == Sources()


@pytest.mark.parametrize("is_by_id", [False, True])
def test_hidden_source_is_reported_like_a_missing_one(vault, is_by_id):
    hidden = str(vault.hidden.pk) if is_by_id else vault.hidden.key
    absent = str(uuid.uuid4()) if is_by_id else "absent"
    assert scope(vault.workspace, vault.outside, hidden).sources == Sources()
    assert scope(vault.workspace, vault.outside, absent).sources == Sources()
    assert keys_of(scope(vault.workspace, vault.outside, hidden, "docs").sources) == ("docs",)
    assert keys_of(scope(vault.workspace, vault.inside, hidden, absent).sources) == (CANARIES["key"],)
    assert keys_of(scope(vault.workspace, OPERATOR, hidden).sources) == (CANARIES["key"],)


def test_filter_does_not_change_the_collection(vault):
    narrowed = scope(vault.workspace, vault.outside, "absent")
    assert (keys_of(narrowed.sources), keys_of(narrowed.readable)) == ((), ("docs",))
    assert scope(vault.workspace, vault.inside, "docs").readable is None


@pytest.mark.parametrize("names", [(), ("docs",), (str(uuid.uuid4()),)])
def test_scope_needs_one_statement_for_any_reader(vault, names):
    for reader in (Reader(), vault.inside, OPERATOR):
        scope(vault.workspace, reader, *names)  # prepares the statement
        with CaptureQueriesContext(
            connection,
        ) as queries:
            scope(vault.workspace, reader, *names)
        assert len(queries) == 1


def test_sources_and_groups_of_other_workspaces_are_ignored(vault):
    elsewhere = make_workspace()
    group = Group.objects.create(workspace=elsewhere, name="keepers")
    theirs = make_place(elsewhere, source="theirs").source
    SourceReader.objects.create(workspace=elsewhere, source=theirs, group=group)
    assert keys_of(scope(vault.workspace, Reader(groups=frozenset({group.pk}))).sources) == ("docs",)
    assert scope(vault.workspace, OPERATOR, "theirs", str(theirs.pk)).sources == Sources()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    restricted=st.sets(st.sampled_from(KEYS)),
    readers=st.sets(st.tuples(st.sampled_from(KEYS), st.integers(0, 2))),
    mine=st.sets(st.integers(0, 2)),
    reads_all=st.booleans(),
)
def test_statement_and_queryset_agree(workspace, restricted, readers, mine, reads_all):
    groups = [Group.objects.get_or_create(workspace=workspace, name=f"g{n}")[0] for n in range(3)]
    sources = {key: make_place(workspace, source=key).source for key in KEYS}
    Source.objects.in_workspace(workspace).update(is_restricted=False)
    Source.objects.in_workspace(workspace).filter(key__in=restricted).update(is_restricted=True)
    SourceReader.objects.in_workspace(workspace).delete()
    for key, number in readers:
        SourceReader.objects.create(workspace=workspace, source=sources[key], group=groups[number])
    reader = Reader(groups=frozenset(groups[number].pk for number in mine), reads_all=reads_all)
    readable = visible_sources(workspace, reader).order_by("key").values_list("key", flat=True)

    narrowed = scope(workspace, reader)

    assert (KEYS if narrowed.sources is None else list(narrowed.sources.keys)) == list(readable)
    assert (narrowed.sources is None) == (len(readable) == len(KEYS))
    by_name = scope(workspace, reader, "a", str(sources["b"].pk)).sources
    assert list(by_name.keys) == [key for key in ("a", "b") if key in readable]
    assert [sources[key].pk for key in by_name.keys] == list(by_name.ids)
