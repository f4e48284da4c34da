"""Permissions to change a source's readers, and the audit of such changes."""

import uuid

import pytest

from kebab.identity.models import AuditEvent, Group
from search.models import Source, SourceReader
from tests.security.hidden_sources.requests import CANARY, send
from tests.support.actors import Role, make_workspace

NEW = {"key": "vault", "kind": "upload"}


@pytest.fixture
def admin(person):
    return person(Role.ADMIN)


@pytest.fixture
def other_group(workspace):
    return Group.objects.create(workspace=workspace, name="board")


def change(client, workspace, source, **fields):
    return send(client, workspace, f"/sources/{source.pk}", "patch", fields)


def audit_events(workspace):
    events = AuditEvent.objects.filter(workspace=workspace.pk, action="source.readers_changed")
    return [(event.subject, event.detail) for event in events.order_by("at")]


def readers_in_table(source):
    found = Source.objects.get(pk=source.pk)
    rows = SourceReader.objects.filter(source=found.pk).values_list("group_id", flat=True)
    return found.is_restricted, set(rows)


def test_new_source_is_visible_to_every_member(admin, person, workspace):
    created = send(person(Role.EDITOR), workspace, "/sources", "post", NEW)

    assert (created.status_code, created.json()["readers"]) == (201, None)
    assert audit_events(workspace) == []


@pytest.mark.parametrize("role", [Role.ADMIN, Role.OWNER])
def test_admin_and_owner_create_a_restricted_source(person, workspace, group, role):
    created = send(person(role), workspace, "/sources", "post", {**NEW, "readers": [str(group.pk)] * 2})

    assert (created.status_code, created.json()["readers"]) == (201, [str(group.pk)])
    assert readers_in_table(Source.objects.get()) == (True, {group.pk})
    assert audit_events(workspace) == [("vault", {"before": None, "after": [str(group.pk)]})]


@pytest.mark.parametrize("readers", [None, [], ["group"]])
@pytest.mark.parametrize("caller", ["editor", "token"])
def test_others_may_not_name_readers(person, tool, workspace, restricted_source, group, caller, readers):
    client = tool(inside=True) if caller == "token" else person(Role.EDITOR, inside=True)
    readers = [str(group.pk)] if readers else readers
    answers = [
        send(client, workspace, "/sources", "post", {**NEW, "readers": readers}),
        change(client, workspace, restricted_source.source, title="mine", readers=readers),
    ]

    assert [answer.status_code for answer in answers] == [403, 403]
    assert "owner or admin" in answers[0].json()["detail"]
    assert not Source.objects.filter(key="vault").exists()
    assert Source.objects.get(pk=restricted_source.source.pk).title == f"{CANARY} source"
    assert readers_in_table(restricted_source.source) == (True, {group.pk})


def test_editor_in_the_group_changes_everything_but_the_readers(person, workspace, restricted_source, group):
    changed = change(person(Role.EDITOR, inside=True), workspace, restricted_source.source, title="Ours")

    assert (changed.status_code, changed.json()["title"]) == (200, "Ours")
    assert changed.json()["readers"] == [str(group.pk)]
    assert audit_events(workspace) == []


def test_other_reader_groups_are_visible_to_owners_and_admins_alone(
    insider, admin, workspace, restricted_source, group, other_group
):
    both = sorted([str(group.pk), str(other_group.pk)])
    change(admin, workspace, restricted_source.source, readers=both)
    tail = f"/sources/{restricted_source.source.pk}"
    reads_all = send(insider, workspace, "/groups").status_code == 200
    shown = both if reads_all else [str(group.pk)]

    assert send(insider, workspace, tail).json()["readers"] == shown
    rows = send(insider, workspace, "/sources").json()["results"]
    assert {row["key"]: row["readers"] for row in rows} == {restricted_source.source.key: shown, "open": None}
    assert send(insider, workspace, tail, "patch", {"title": "x"}).json()["readers"] == shown
    assert readers_in_table(restricted_source.source) == (True, {group.pk, other_group.pk})


def test_change_of_readers_holds_from_the_next_request_on(
    admin, person, workspace, restricted_source, group, other_group
):
    editor, insider = person(Role.EDITOR), person(Role.EDITOR, inside=True)
    tail = f"/sources/{restricted_source.source.pk}"

    def statuses():
        return [send(client, workspace, tail).status_code for client in (editor, insider)]

    assert statuses() == [404, 200]
    steps = [None, [], [str(other_group.pk)], sorted([str(group.pk), str(other_group.pk)])]
    seen = []
    for readers in steps:
        answer = change(admin, workspace, restricted_source.source, readers=readers)
        assert (answer.status_code, answer.json()["readers"]) == (200, readers)
        seen.append(statuses())

    assert seen == [[200, 200], [404, 404], [404, 404], [404, 200]]
    before = [[str(group.pk)], *steps[:-1]]
    key = restricted_source.source.key
    assert audit_events(workspace) == [
        (key, {"before": one, "after": other}) for one, other in zip(before, steps, strict=True)
    ]


def test_unchanged_readers_are_not_audited(admin, workspace, restricted_source, group):
    assert change(admin, workspace, restricted_source.source, readers=[str(group.pk)]).status_code == 200
    assert audit_events(workspace) == []


@pytest.mark.parametrize("whose", ["nobody", "another workspace"])
def test_group_of_another_workspace_is_rejected_by_its_id(admin, workspace, restricted_source, group, whose):
    foreign = Group.objects.create(workspace=make_workspace(), name="theirs")
    id_ = str(foreign.pk if whose == "another workspace" else uuid.uuid4())
    answers = [
        change(admin, workspace, restricted_source.source, title="x", readers=[str(group.pk), id_]),
        send(admin, workspace, "/sources", "post", {**NEW, "readers": [id_]}),
    ]

    for answer in answers:
        assert (answer.status_code, answer.json()["code"]) == (422, "unknown_group")
        assert id_ in answer.json()["detail"]
        assert str(group.pk) not in answer.json()["detail"]
    assert not Source.objects.filter(key="vault").exists()
    assert Source.objects.get(pk=restricted_source.source.pk).title == f"{CANARY} source"
    assert readers_in_table(restricted_source.source) == (True, {group.pk})


def test_invalid_list_of_readers_is_rejected(admin, workspace, restricted_source, subtests):
    for readers in ("all", {}, ["board"], [[]], [str(uuid.uuid4())] * 101):
        with subtests.test(readers=readers):
            answer = change(admin, workspace, restricted_source.source, readers=readers)
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


def test_source_whose_group_is_deleted_stays_restricted(admin, person, workspace, restricted_source, group):
    insider = person(Role.EDITOR, inside=True)
    group.delete()

    assert send(insider, workspace, f"/sources/{restricted_source.source.pk}").status_code == 404
    assert send(admin, workspace, f"/sources/{restricted_source.source.pk}").json()["readers"] == []
