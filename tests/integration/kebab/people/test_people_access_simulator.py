"""The access simulator says what the API does."""

import io
import json
import re
import uuid
from contextlib import nullcontext
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone

from kebab.api.errors import InvalidRequest, NotFound
from kebab.cli import verb
from kebab.people import simulator
from kebab.people.access import Caller
from kebab.people.models import ApiToken, Group, Role, User
from kebab.people.operations import operations
from kebab.people.simulator import explain_access
from kebab.people.tokens import mint_token, readable_tokens
from search.models import Document, Source
from tests.integration.kebab.people.simulating import SOURCES, WORD, callers, fill
from tests.support.actors import (
    make_member,
    make_person,
    make_workspace,
    member_client,
    person_client,
    token_client,
)
from tests.support.api import committed


@pytest.fixture(autouse=True)
def _test_addresses(settings):
    """The addresses as shipped."""


@pytest.fixture(autouse=True)
def _servers_run_already(monkeypatch):
    monkeypatch.setattr(verb, "borrowed_stack", lambda *_, **__: nullcontext())


@pytest.fixture(scope="module")
def filled(django_db_setup, django_db_blocker, tmp_path_factory):
    mirrors = tmp_path_factory.mktemp("simulator")
    with committed(django_db_blocker, mirrors, fill) as workspace:
        yield workspace, mirrors


@pytest.fixture
def workspace(db, filled, settings):
    found, settings.KEBAB_MIRROR_DIR = filled
    settings.KEBAB_LEG_LIMIT_MS = 60_000
    found.refresh_from_db()
    return found


def path(workspace, query=""):
    return f"/api/v1/workspaces/{workspace.slug}/access{query}"


def test_every_need_of_the_api_is_a_permission_with_a_name():
    assert {operation.need for operation in operations()} <= set(simulator._NAMED)
    assert len(operations()) > 40


def test_it_refuses_and_allows_what_the_api_refuses_and_allows(db, settings, mirrors):
    workspace = make_workspace()
    for caller, client in callers_without_groups(workspace):
        report = explain_access(workspace, caller)
        said = {each: may.is_allowed for may in report.permissions for each in may.operations}
        assert len(said) == len(operations())
        for operation in operations():
            is_allowed = answered(client, workspace, caller, operation) != 403
            assert said[str(operation)] is is_allowed, (caller.actor, report.role, str(operation))


def callers_without_groups(workspace):
    for name in ("legal", "staff"):
        Group.objects.create(workspace=workspace, name=name)
    seen = set()
    for caller, client in callers(workspace):
        report = explain_access(workspace, caller)
        kind = (report.role, report.scopes if report.role is None else ())
        if kind not in seen:
            seen.add(kind)
            yield caller, client
    assert len(seen) == len(Role) + 6


def answered(client, workspace, caller, operation):
    """Give the status of an operation on what isn't there, and leave no trace of it."""
    own = {"user_id": str(caller.user.pk)} if caller.user is not None else {}
    route = re.sub(r"\{(\w+)\}", lambda found: own.get(found[1]) or missing(found[1]), operation.route)
    with transaction.atomic():
        response = getattr(client, operation.method.lower())(
            f"/api/v1/workspaces/{workspace.slug}{route}", {}, format="json"
        )
        transaction.set_rollback(True)
    assert response.status_code < 500
    return response.status_code


def missing(parameter):
    if parameter in ("user_id", "space_id", "entry_id"):
        return "999999999"
    return uuid.uuid4().hex if parameter in ("doc_id", "chunk_id") else str(uuid.uuid4())


def test_it_shows_and_hides_the_sources_that_the_api_shows_and_hides(workspace):
    documents = dict(Document.objects.in_workspace(workspace).values_list("source__key", "doc_id"))
    for caller, client in callers(workspace):
        things = {thing.name: thing for thing in explain_access(workspace, caller).things}
        assert set(things) == set(SOURCES)
        visible = {name for name, thing in things.items() if thing.is_visible}
        searchable = {name for name, thing in things.items() if thing.is_searchable}
        told = (caller.actor, [(thing.name, thing.why) for thing in things.values()])

        assert visible == {
            key for key, thing in things.items() if is_there(client, workspace, f"sources/{thing.id}")
        }, told
        assert searchable == {
            key for key, doc_id in documents.items() if is_there(client, workspace, f"documents/{doc_id.hex}")
        }, told
        assert searchable == found(client, workspace), told


def is_there(client, workspace, tail):
    return client.get(f"/api/v1/workspaces/{workspace.slug}/{tail}").status_code == 200


def found(client, workspace):
    response = client.get(f"/api/v1/workspaces/{workspace.slug}/search?q={WORD}&mode=lexical&k=50")
    return {hit["source"] for hit in response.json()["hits"]} if response.status_code == 200 else set()


def test_a_document_is_as_its_source_is(workspace):
    for caller, _ in callers(workspace):
        sources = {thing.name: thing for thing in explain_access(workspace, caller).things}
        for document in Document.objects.in_workspace(workspace).select_related("source"):
            (told,) = explain_access(workspace, caller, document=document.doc_id).things
            assert (told.kind, told.name) == ("document", document.path)
            assert told.is_visible is told.is_searchable is sources[document.source.key].is_searchable
            assert told.why.endswith(sources[document.source.key].why)


@pytest.mark.parametrize(
    ("key", "role", "names", "why"),
    [
        ("open", Role.VIEWER, (), "Open to all members."),
        ("sealed", Role.VIEWER, ("staff",), "Restricted, and no group reads it: only owners and admins do."),
        ("staff", Role.VIEWER, (), "Restricted to staff; is not in it."),
        ("staff", Role.VIEWER, ("staff",), "Restricted to staff; is in staff."),
        ("shared", Role.EDITOR, (), "Restricted to legal, staff; is in none of them."),
        ("shared", Role.EDITOR, ("staff",), "Restricted to legal, staff; is in staff."),
        ("shared", Role.ADMIN, (), "Restricted to legal, staff; owners and admins read all."),
    ],
)
def test_it_says_why(workspace, key, role, names, why):
    user = make_member(workspace, role)
    client = member_client(workspace, Role.OWNER)
    for name in names:
        group = Group.objects.get(workspace=workspace, name=name)
        assert (
            client.put(path(workspace).replace("access", f"groups/{group.pk}/members/{user.pk}")).status_code
            == 204
        )

    (thing,) = client.get(path(workspace, f"?user={user.pk}&source={key}")).json()["things"]
    assert thing["why"] == why


def test_a_token_without_the_scope_is_told_of(workspace):
    token, _ = mint_token(workspace, scopes=["ingest"])
    report = explain_access(workspace, Caller(token=readable_tokens().get(pk=token.pk)), source="open")

    assert (report.things[0].is_visible, report.things[0].is_searchable) == (True, False)
    assert "scope search" in report.things[0].why


def barred(workspace, caller):
    report = explain_access(workspace, caller)
    assert not any(permission.is_allowed for permission in report.permissions)
    assert not any(thing.is_visible or thing.is_searchable for thing in report.things)
    assert {thing.why for thing in report.things} == {report.barred}
    return report.barred


def test_who_is_not_let_in_is_told_so_of_everything(workspace):
    member = make_member(workspace)
    User.objects.filter(pk=member.pk).update(is_active=False)
    member.refresh_from_db()
    revoked, _ = mint_token(workspace, scopes=["search"])
    ApiToken.objects.filter(pk=revoked.pk).update(revoked_at=timezone.now())
    expired, _ = mint_token(workspace, scopes=["search"], expires_at=timezone.now() - timedelta(days=1))
    foreign, _ = mint_token(make_workspace(), scopes=["search"])

    assert "doesn't belong" in barred(workspace, Caller(user=make_person()))
    assert "deactivated" in barred(workspace, Caller(user=member))
    for token, why in ((revoked, "revoked"), (expired, "expired"), (foreign, "doesn't belong")):
        assert why in barred(workspace, Caller(token=readable_tokens().get(pk=token.pk)))


def test_what_is_not_there_is_not_explained(workspace):
    caller = Caller(user=make_member(workspace))
    for asked in ({"source": "nothing"}, {"source": str(uuid.uuid4())}, {"document": uuid.uuid4()}):
        with pytest.raises(NotFound):
            explain_access(workspace, caller, **asked)


def test_only_admins_and_owners_ask(workspace):
    member = make_member(workspace)
    every_scope = token_client(workspace, "search", "ingest", "manage", "ask")
    for client in (member_client(workspace, Role.EDITOR), person_client(member), every_scope):
        assert client.get(path(workspace, f"?user={member.pk}")).status_code == 403
    report = member_client(workspace, Role.ADMIN).get(path(workspace, f"?user={member.pk}")).json()
    assert (report["schema_version"], report["subject"]) == ("access_report.v1", member.email)


def test_people_and_tokens_of_elsewhere_look_like_missing_ones(workspace):
    client, elsewhere = member_client(workspace, Role.ADMIN), make_workspace()
    stranger, (foreign, _) = make_member(elsewhere), mint_token(elsewhere, scopes=["search"])
    answers = [
        client.get(path(workspace, query))
        for query in (
            f"?user={stranger.pk}",
            "?user=999999999",
            f"?token={foreign.pk}",
            f"?token={uuid.uuid4()}",
            f"?user={client.get(path(workspace)).status_code}",
        )
    ]

    assert {response.status_code for response in answers} == {404}
    assert len({response.content for response in answers}) == 1


def test_a_question_names_one_caller_and_one_thing(workspace):
    client, member = member_client(workspace, Role.ADMIN), make_member(workspace)
    for query in (
        "",
        f"?user={member.pk}&token={uuid.uuid4()}",
        f"?user={member.pk}&source=open&document={uuid.uuid4().hex}",
        "?user=me",
        f"?user={member.pk}&sauce=open",
        "?user=99999999999999999999999",
    ):
        assert client.get(path(workspace, query)).status_code in {400, 404}, query


def test_the_report_does_not_ask_more_for_more_sources(workspace, django_assert_max_num_queries):
    caller = Caller(user=make_member(workspace))
    with django_assert_max_num_queries(20) as few:
        explain_access(workspace, caller)
    for number in range(10):
        source = Source.objects.in_workspace(workspace).get(key="open")
        source.pk, source.key, source.library_id = uuid.uuid4(), f"more-{number}", ""
        source._state.adding = True
        source.save()
    with django_assert_max_num_queries(20) as many:
        explain_access(workspace, caller)
    assert len(many) == len(few)


def run(*arguments):
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("access", *arguments, stdout=out, stderr=err)
    except SystemExit as end:
        return end.code, out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


def test_the_verb_tells_people_and_programs_the_same(workspace):
    user, where = make_member(workspace), ("--workspace", workspace.slug)
    code, out, _ = run("--user", user.email, *where)
    assert code == 0
    assert "Restricted to legal, staff; is in none of them." in out
    code, out, _ = run("--user", user.email, *where, "--json")
    answer = member_client(workspace, Role.OWNER).get(path(workspace, f"?user={user.pk}")).json()
    assert json.loads(out) == answer


def test_the_verb_ends_as_the_one_thing_is(workspace):
    where = ("--workspace", workspace.slug)
    token, _ = mint_token(workspace, scopes=["search"])
    doc_id = Document.objects.in_workspace(workspace).get(source__key="staff").doc_id

    assert run("--token", f"kbb_{token.prefix}", *where, "--source", "open")[0] == 0
    assert run("--token", f"kbb_{token.prefix}", *where, "--source", "staff")[0] == 1
    assert run("--token", str(token.pk), *where, "--document", doc_id.hex)[0] == 1
    assert run("--token", token.prefix, *where, "--source", "nothing")[0] == 1
    assert run("--user", "nobody@example.org", *where)[0] == 1


def test_a_document_and_a_source_at_once_are_refused(workspace):
    with pytest.raises(InvalidRequest, match="not both"):
        explain_access(workspace, Caller(user=make_member(workspace)), document=uuid.uuid4(), source="open")
