"""Hidden ids: each endpoint of ingest answers for them as for missing ids."""

import json
import re
from itertools import product

import pytest
from django.db import transaction

from ingest.api.urls import urlpatterns
from kebab.identity.models import GroupMember
from search.models import Document, Source
from tests.security.hidden_sources.requests import (
    BY_ID,
    CANARY,
    LISTS,
    assert_silent,
    contents,
    missing_ids,
    send,
)
from tests.support.actors import Role


@pytest.mark.slow
def test_hidden_id_is_answered_like_a_missing_one_and_changes_nothing(
    person, tool, workspace, restricted_source, subtests
):
    outsiders = {"editor": person(Role.EDITOR), "viewer": person(Role.VIEWER), "token": tool()}
    for (name, outsider), (tail, method, body) in product(outsiders.items(), BY_ID):
        with subtests.test(caller=name, tail=tail, method=method, body=body):
            hidden = send(outsider, workspace, tail.format(**restricted_source.ids), method, body)
            missing = send(outsider, workspace, tail.format(**missing_ids()), method, body)
            assert contents(hidden) == contents(missing)
            assert hidden.status_code in ({403, 404} if name == "viewer" else {404})
            assert_silent(hidden)
    source = Source.objects.get(pk=restricted_source.source.pk)
    assert (source.title, source.is_restricted) == (f"{CANARY} source", True)
    assert not source.versions.exclude(tag="").exists()
    assert Document.objects.in_workspace(workspace).filter(doc_id=restricted_source.doc_id).exists()
    assert list(source.jobs.all()) == [restricted_source.job]


def test_editor_in_the_group_is_answered_differently(person, workspace, restricted_source, subtests):
    editor = person(Role.EDITOR, inside=True)
    for tail, method, body in BY_ID:
        with subtests.test(tail=tail, method=method, body=body), transaction.atomic():
            answer = send(editor, workspace, tail.format(**restricted_source.ids), method, body)
            transaction.set_rollback(True)
        deletes_a_version = "tag=v1" in tail  # which doesn't exist
        assert (answer.status_code == 404) == deletes_a_version


def test_every_address_with_an_id_is_covered():
    tails = (re.sub(r"<\w+:(\w+)_id>", r"{\1}", str(pattern.pattern)) for pattern in urlpatterns)
    # The adapters name no workspace; the leak matrix has them.
    with_ids = {tail.partition("<str:ws>")[2] for tail in tails if "{" in tail and "<str:ws>" in tail}
    of_all = {"/embedding/spaces/{space}"}
    of_topics = {tail for tail in with_ids if tail.startswith("/eval/runs/")}  # covered by test_eval_runs_api

    assert {tail.partition("?")[0] for tail, _, _ in BY_ID} | of_all | of_topics == with_ids


def test_lists_contain_open_objects_and_nothing_hidden(outsider, workspace, restricted_source):
    for tail in LISTS:
        answer = send(outsider, workspace, tail)
        assert answer.status_code == 200
        assert_silent(answer)
    assert [row["key"] for row in send(outsider, workspace, "/sources").json()["results"]] == ["open"]
    assert [row["path"] for row in send(outsider, workspace, "/documents").json()["results"]] == ["open.md"]


def test_insider_reads_the_source_and_finds_it_in_lists(insider, workspace, restricted_source):
    for tail, method, body in BY_ID:
        if method == "get":
            assert (
                send(insider, workspace, tail.format(**restricted_source.ids), method, body).status_code
                == 200
            )
    for tail in LISTS:
        assert CANARY in json.dumps(send(insider, workspace, tail).json())


def test_filter_by_a_hidden_source_equals_one_by_a_missing_source(outsider, workspace, restricted_source):
    for list_, name in product(["/documents", "/quarantine"], [f"{CANARY}-key", restricted_source.source.pk]):
        hidden = send(outsider, workspace, f"{list_}?source={name}")
        assert contents(hidden) == contents(send(outsider, workspace, f"{list_}?source=nothing"))
        assert hidden.json() == {"results": [], "next_cursor": None}


def test_source_without_a_reader_is_visible_to_owners_and_admins_alone(
    person, tool, workspace, restricted_source
):
    restricted_source.source.readers.all().delete()
    tail = f"/sources/{restricted_source.source.pk}"

    assert send(person(Role.EDITOR, inside=True), workspace, tail).status_code == 404
    assert send(tool(inside=True), workspace, tail).status_code == 404
    assert send(person(Role.ADMIN), workspace, tail).status_code == 200


def test_leaving_the_group_ends_access_with_the_next_request(person, workspace, restricted_source):
    editor = person(Role.EDITOR, inside=True)
    tail = f"/sources/{restricted_source.source.pk}"
    assert send(editor, workspace, tail).status_code == 200
    GroupMember.objects.all().delete()

    assert send(editor, workspace, tail).status_code == 404
