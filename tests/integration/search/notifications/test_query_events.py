"""Events about unsuccessful searches, once their keystrokes are over."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from kebab.webhooks.models import Delivery
from search.models import AskedQuery, Door
from search.query_log.buffer import LoggedQuery
from search.query_log.storage import publish_typed_queries, store_queries
from search.retrieval.types import Mode
from tests.support.webhooks import make_endpoint

pytestmark = pytest.mark.django_db


def logged(workspace, text, *, hits=0, door=Door.API, seconds_ago=30):
    return LoggedQuery(
        workspace_id=workspace.pk,
        text=text,
        door=door,
        mode=Mode.HYBRID,
        hits=hits,
        lexical_total=hits,
        took_ms=1.0,
        degraded=(),
        asked_at=timezone.now() - timedelta(seconds=seconds_ago),
        caller="user:1",
    )


def reported_queries():
    return [json.loads(row.body)["data"]["query"] for row in Delivery.objects.order_by("id")]


@pytest.fixture
def endpoint(workspace):
    return make_endpoint(workspace, "https://hooks.example.org/", "search.unsuccessful")


def test_unsuccessful_query_is_reported_once_though_it_is_stored_again(workspace, endpoint):
    queries = [logged(workspace, "no such thing"), logged(workspace, "found", hits=2)]
    for _ in range(2):
        store_queries(workspace.pk, queries)
    assert reported_queries() == ["no such thing"]
    assert Delivery.objects.get().event_id == queries[0].query_id


def test_query_typed_on_a_page_is_reported_when_its_keystrokes_are_over(workspace, endpoint):
    typed = [
        logged(workspace, text, door=Door.PAGE, seconds_ago=seconds)
        for text, seconds in (("wh", 50), ("whiteb", 49), ("whiteboard", 48))
    ]
    store_queries(workspace.pk, typed)
    publish_typed_queries()
    assert reported_queries() == []
    AskedQuery.objects.update(asked_at=timezone.now() - timedelta(minutes=2))
    for _ in range(2):
        publish_typed_queries()
    assert reported_queries() == ["whiteboard"]
