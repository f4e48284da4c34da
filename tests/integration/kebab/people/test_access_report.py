import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from kebab.errors import InvalidRequest, NotFound
from kebab.identity.caller import Caller
from kebab.identity.models import ApiToken, Group, Role, TokenScope, User
from kebab.identity.tokens import mint_token, readable_tokens
from kebab.people import access_report as simulator
from kebab.people.access_report import explain_access, operations
from search.models import Source
from tests.integration.kebab.people.access_cases import (  # noqa: F401 - `corpus` calls `fill`
    callers,
    compare_permissions,
    compare_things,
    fill,
)
from tests.support.actors import (
    make_member,
    make_person,
    make_workspace,
    member_client,
)


@pytest.fixture(autouse=True)
def _test_addresses():
    """Keep the addresses as shipped."""


@pytest.fixture
def workspace(filled):
    return filled


def path(workspace, query=""):
    return f"/api/v1/workspaces/{workspace.slug}/access{query}"


def test_every_permission_of_the_api_has_a_name_in_the_simulator():
    assert {operation.need for operation in operations()} <= set(simulator._NAMES_OF_NEEDS)
    assert len(operations()) > 40


def test_report_allows_what_the_api_allows(db, mirrors):
    """Compare one operation for each right; `test_simulator_matrix` compares all."""
    first = {operation.need: operation for operation in reversed(operations())}
    assert compare_permissions(make_workspace(), list(first.values())) == len(Role) + len(TokenScope) + 2


@pytest.mark.slow
def test_report_shows_the_sources_and_documents_that_the_api_shows(workspace):
    few = callers(workspace, roles=(Role.VIEWER, Role.ADMIN), scopes=[("search",), ("ingest",)])
    assert compare_things(workspace, few) == 8


REASONS = [
    ("open", Role.VIEWER, False, "Open to all members."),
    ("sealed", Role.VIEWER, True, "Restricted, and no group reads it: only owners and admins do."),
    ("staff", Role.VIEWER, False, "Restricted to staff; is not in it."),
    ("staff", Role.VIEWER, True, "Restricted to staff; is in staff."),
    ("shared", Role.EDITOR, False, "Restricted to legal, staff; is in none of them."),
    ("shared", Role.EDITOR, True, "Restricted to legal, staff; is in staff."),
    ("shared", Role.ADMIN, False, "Restricted to legal, staff; owners and admins read all."),
]


def test_report_gives_the_reason(workspace, subtests):
    client, staff = member_client(workspace, Role.OWNER), Group.objects.get(workspace=workspace, name="staff")
    for key, role, is_in_staff, reason in REASONS:
        user = make_member(workspace, role)
        if is_in_staff:
            client.put(path(workspace).replace("access", f"groups/{staff.pk}/members/{user.pk}"))
        with subtests.test(reason=reason):
            (thing,) = client.get(path(workspace, f"?user={user.pk}&source={key}")).json()["things"]
            assert thing["why"] == reason


def test_missing_scope_is_reported(workspace):
    token, _ = mint_token(workspace, scopes=["ingest"])
    report = explain_access(workspace, Caller(token=readable_tokens().get(pk=token.pk)), source="open")

    assert (report.things[0].is_visible, report.things[0].is_searchable) == (True, False)
    assert "scope search" in report.things[0].why


def refusal_reason(workspace, caller):
    report = explain_access(workspace, caller)
    assert not any(permission.is_allowed for permission in report.permissions)
    assert not any(thing.is_visible or thing.is_searchable for thing in report.things)
    assert {thing.why for thing in report.things} == {report.barred}
    return report.barred


def test_caller_without_entry_is_barred_from_everything(workspace):
    member = make_member(workspace)
    User.objects.filter(pk=member.pk).update(is_active=False)
    member.refresh_from_db()
    revoked, _ = mint_token(workspace, scopes=["search"])
    ApiToken.objects.filter(pk=revoked.pk).update(revoked_at=timezone.now())
    expired, _ = mint_token(workspace, scopes=["search"], expires_at=timezone.now() - timedelta(days=1))
    foreign, _ = mint_token(make_workspace(), scopes=["search"])

    assert "not a member" in refusal_reason(workspace, Caller(user=make_person()))
    assert "deactivated" in refusal_reason(workspace, Caller(user=member))
    for token, why in ((revoked, "revoked"), (expired, "expired"), (foreign, "not a member")):
        assert why in refusal_reason(workspace, Caller(token=readable_tokens().get(pk=token.pk)))


def test_missing_source_or_document_and_both_at_once_are_refused(workspace):
    caller = Caller(user=make_member(workspace))
    for asked in ({"source": "nothing"}, {"source": str(uuid.uuid4())}, {"document": uuid.uuid4()}):
        with pytest.raises(NotFound):
            explain_access(workspace, caller, **asked)
    with pytest.raises(InvalidRequest):
        explain_access(workspace, caller, document=uuid.uuid4(), source="open")


def test_request_names_one_caller_and_at_most_one_thing(workspace):
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


def test_queries_of_an_access_report_do_not_grow_with_sources(workspace, django_assert_max_num_queries):
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
