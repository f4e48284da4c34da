"""The lists behind the cursors of searches: how long, for whom, and a search without the store."""

import pytest

from kebab.people.deletion import delete_workspace
from kebab.people.models import Workspace
from kebab.people.operator import the_operator
from search import cursor_store
from search.frozen_list import FrozenList
from tests.support.corpus import write


def fill(workspace):
    for number in range(9):
        write(workspace, f"{number}.md", f"{'alpha ' * (number % 3 + 1)}beta {number}")


@pytest.fixture
def workspace(filled):
    return filled


@pytest.fixture
def no_redis(settings, tmp_path):
    cursor_store.cursor_store.cache_clear()
    settings.REDIS_URL = f"unix://{tmp_path}/nothing.sock"
    yield
    cursor_store.cursor_store.cache_clear()


def kept(store, workspace):
    return store.keys(f"kebab:cursor:{workspace.pk.hex}:*")


def test_a_list_is_kept_for_fifteen_minutes_from_its_last_use_on(ask, workspace, store):
    store.delete(*kept(store, workspace), "nothing")
    cursor = ask(q="alpha", k=4)["next_cursor"]
    (name,) = kept(store, workspace)

    assert store.ttl(name) >= 15 * 60
    store.expire(name, 5)
    ask(cursor=cursor)
    assert store.ttl(name) >= 15 * 60
    store.expire(name, 5)
    ask(q="alpha", k=4)
    assert store.ttl(name) >= 15 * 60


def test_the_same_list_is_kept_once(ask, workspace, store):
    store.delete(*kept(store, workspace), "nothing")
    cursors = {ask(q="alpha", k=4)["next_cursor"] for _ in range(3)}

    assert len(cursors) == len(kept(store, workspace)) == 1


def test_no_text_of_a_document_is_kept(ask, workspace, store):
    store.delete(*kept(store, workspace), "nothing")
    ask(q="alpha", k=4)
    (name,) = kept(store, workspace)
    frozen = FrozenList.from_bytes(store.get(name))

    assert frozen.result.hits == ()
    assert "beta" not in repr(frozen)


def test_with_a_workspace_go_the_lists_of_its_queries_and_no_others(
    ask, workspace, other_workspace, store, django_capture_on_commit_callbacks
):
    cursor = ask(q="alpha", k=4)["next_cursor"]
    key = f"kebab:cursor:{other_workspace.pk.hex}:token:1:00"
    store.set(key, b"")
    with django_capture_on_commit_callbacks(execute=True):
        delete_workspace(the_operator(other_workspace))

    assert not store.exists(key)
    assert ask(cursor=cursor)["hits"]


def test_one_caller_keeps_no_more_than_its_share(ask, settings):
    settings.KEBAB_CURSOR_LIMIT_BYTES = 10
    page = ask(q="alpha beta", k=4)

    assert (len(page["hits"]), page["next_cursor"]) == (4, None)
    assert any("no cursor" in warning for warning in page["warnings"])


def test_without_redis_a_workspace_goes_all_the_same(
    other_workspace, no_redis, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        delete_workspace(the_operator(other_workspace))

    assert not Workspace.objects.filter(slug=other_workspace.slug).exists()


def test_without_redis_a_search_answers_and_says_what_it_lacks(ask, no_redis):
    page = ask(q="alpha", k=4)

    assert (len(page["hits"]), page["next_cursor"]) == (4, None)
    assert any("Redis" in warning for warning in page["warnings"])


def test_without_redis_a_cursor_is_not_called_stale(refusal, no_redis):
    status, problem = refusal(cursor=bytes(18).hex())

    assert (status, problem["code"]) == (503, "redis_unavailable")
