"""What one may not read does not exist: each door of ingest answers for it as for an id of nothing."""

import json
import re
from itertools import product

import pytest
from django.db import transaction

from ingest.api.urls import urlpatterns
from kebab.people.models import GroupMember
from search.models import Document, Source
from tests.security.hidden_sources.calling import BY_ID, CANARY, LISTS, assert_silent, missing_ids, send, told
from tests.support.actors import Role


@pytest.mark.slow
def test_a_hidden_id_is_answered_like_a_missing_one_and_nothing_changes(
    person, tool, workspace, restricted, subtests
):
    outsiders = {"editor": person(Role.EDITOR), "viewer": person(Role.VIEWER), "token": tool()}
    for (name, outsider), (tail, method, body) in product(outsiders.items(), BY_ID):
        with subtests.test(caller=name, tail=tail, method=method, body=body):
            hidden = send(outsider, workspace, tail.format(**restricted.ids), method, body)
            missing = send(outsider, workspace, tail.format(**missing_ids()), method, body)
            assert told(hidden) == told(missing)
            assert hidden.status_code in ({403, 404} if name == "viewer" else {404})
            assert_silent(hidden)
    source = Source.objects.get(pk=restricted.source.pk)
    assert (source.title, source.is_restricted) == (f"{CANARY} source", True)
    assert not source.versions.exclude(tag="").exists()
    assert Document.objects.in_workspace(workspace).filter(doc_id=restricted.doc_id).exists()
    assert list(source.jobs.all()) == [restricted.job]


def test_an_editor_in_the_group_is_answered_otherwise(person, workspace, restricted, subtests):
    editor = person(Role.EDITOR, inside=True)
    for tail, method, body in BY_ID:
        with subtests.test(tail=tail, method=method, body=body), transaction.atomic():
            answer = send(editor, workspace, tail.format(**restricted.ids), method, body)
            transaction.set_rollback(True)
        deletes_a_version = "tag=v1" in tail  # which there is none of
        assert (answer.status_code == 404) == deletes_a_version


def test_every_address_with_an_id_is_tried():
    tails = (re.sub(r"<\w+:(\w+)_id>", r"{\1}", str(pattern.pattern)) for pattern in urlpatterns)
    with_ids = {tail.partition("<str:ws>")[2] for tail in tails if "{" in tail}
    of_all = {"/embedding/spaces/{space}"}
    of_topics = {tail for tail in with_ids if tail.startswith("/eval/runs/")}  # test_eval_runs_api has these

    assert {tail.partition("?")[0] for tail, _, _ in BY_ID} | of_all | of_topics == with_ids


def test_lists_hold_what_is_open_and_nothing_hidden(outsider, workspace, restricted):
    for tail in LISTS:
        answer = send(outsider, workspace, tail)
        assert answer.status_code == 200
        assert_silent(answer)
    assert [row["key"] for row in send(outsider, workspace, "/sources").json()["results"]] == ["open"]
    assert [row["path"] for row in send(outsider, workspace, "/documents").json()["results"]] == ["open.md"]


def test_who_may_read_it_may_and_finds_it_in_lists(insider, workspace, restricted):
    for tail, method, body in BY_ID:
        if method == "get":
            assert send(insider, workspace, tail.format(**restricted.ids), method, body).status_code == 200
    for tail in LISTS:
        assert CANARY in json.dumps(send(insider, workspace, tail).json())


def test_a_filter_by_a_hidden_source_is_like_one_by_no_source(outsider, workspace, restricted):
    for list_, name in product(["/documents", "/quarantine"], [f"{CANARY}-key", restricted.source.pk]):
        hidden = send(outsider, workspace, f"{list_}?source={name}")
        assert told(hidden) == told(send(outsider, workspace, f"{list_}?source=nothing"))
        assert hidden.json() == {"results": [], "next_cursor": None}


def test_a_source_without_a_reader_is_there_for_owners_and_admins_alone(person, tool, workspace, restricted):
    restricted.source.readers.all().delete()
    tail = f"/sources/{restricted.source.pk}"

    assert send(person(Role.EDITOR, inside=True), workspace, tail).status_code == 404
    assert send(tool(inside=True), workspace, tail).status_code == 404
    assert send(person(Role.ADMIN), workspace, tail).status_code == 200


def test_who_leaves_the_group_reads_it_no_more_from_the_next_request_on(person, workspace, restricted):
    editor = person(Role.EDITOR, inside=True)
    tail = f"/sources/{restricted.source.pk}"
    assert send(editor, workspace, tail).status_code == 200
    GroupMember.objects.all().delete()

    assert send(editor, workspace, tail).status_code == 404
