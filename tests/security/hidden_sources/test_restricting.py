"""Who may say who reads a source, and what is written down of it."""

import uuid

import pytest

from kebab.people.models import AuditEvent, Group
from search.models import Source, SourceReader
from tests.security.hidden_sources.calling import CANARY, send
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


def audited(workspace):
    events = AuditEvent.objects.filter(workspace=workspace.pk, action="source.readers_changed")
    return [(event.subject, event.detail) for event in events.order_by("at")]


def readers_in_table(source):
    found = Source.objects.get(pk=source.pk)
    rows = SourceReader.objects.filter(source=found.pk).values_list("group_id", flat=True)
    return found.is_restricted, set(rows)


def test_a_new_source_is_every_members(admin, person, workspace):
    made = send(person(Role.EDITOR), workspace, "/sources", "post", NEW)

    assert (made.status_code, made.json()["readers"]) == (201, None)
    assert audited(workspace) == []


@pytest.mark.parametrize("role", [Role.ADMIN, Role.OWNER])
def test_admins_and_owners_make_a_restricted_source(person, workspace, group, role):
    made = send(person(role), workspace, "/sources", "post", {**NEW, "readers": [str(group.pk)] * 2})

    assert (made.status_code, made.json()["readers"]) == (201, [str(group.pk)])
    assert readers_in_table(Source.objects.get()) == (True, {group.pk})
    assert audited(workspace) == [("vault", {"before": None, "after": [str(group.pk)]})]


@pytest.mark.parametrize("readers", [None, [], ["group"]])
@pytest.mark.parametrize("caller", ["editor", "token"])
def test_others_may_not_name_readers(person, tool, workspace, restricted, group, caller, readers):
    client = tool(inside=True) if caller == "token" else person(Role.EDITOR, inside=True)
    readers = [str(group.pk)] if readers else readers
    answers = [
        send(client, workspace, "/sources", "post", {**NEW, "readers": readers}),
        change(client, workspace, restricted.source, title="mine", readers=readers),
    ]

    assert [answer.status_code for answer in answers] == [403, 403]
    assert "owner or admin" in answers[0].json()["detail"]
    assert not Source.objects.filter(key="vault").exists()
    assert Source.objects.get(pk=restricted.source.pk).title == f"{CANARY} source"
    assert readers_in_table(restricted.source) == (True, {group.pk})


def test_an_editor_in_the_group_changes_all_else_of_it(person, workspace, restricted, group):
    changed = change(person(Role.EDITOR, inside=True), workspace, restricted.source, title="Ours")

    assert (changed.status_code, changed.json()["title"]) == (200, "Ours")
    assert changed.json()["readers"] == [str(group.pk)]
    assert audited(workspace) == []


def test_other_groups_that_read_it_are_told_to_owners_and_admins_alone(
    insider, admin, workspace, restricted, group, other_group
):
    both = sorted([str(group.pk), str(other_group.pk)])
    change(admin, workspace, restricted.source, readers=both)
    tail = f"/sources/{restricted.source.pk}"
    reads_all = send(insider, workspace, "/groups").status_code == 200
    shown = both if reads_all else [str(group.pk)]

    assert send(insider, workspace, tail).json()["readers"] == shown
    rows = send(insider, workspace, "/sources").json()["results"]
    assert {row["key"]: row["readers"] for row in rows} == {restricted.source.key: shown, "open": None}
    assert send(insider, workspace, tail, "patch", {"title": "x"}).json()["readers"] == shown
    assert readers_in_table(restricted.source) == (True, {group.pk, other_group.pk})


def test_a_change_of_readers_holds_from_the_next_request_on(
    admin, person, workspace, restricted, group, other_group
):
    editor, insider = person(Role.EDITOR), person(Role.EDITOR, inside=True)
    tail = f"/sources/{restricted.source.pk}"

    def seen_by():
        return [send(client, workspace, tail).status_code for client in (editor, insider)]

    assert seen_by() == [404, 200]
    steps = [None, [], [str(other_group.pk)], sorted([str(group.pk), str(other_group.pk)])]
    seen = []
    for readers in steps:
        answer = change(admin, workspace, restricted.source, readers=readers)
        assert (answer.status_code, answer.json()["readers"]) == (200, readers)
        seen.append(seen_by())

    assert seen == [[200, 200], [404, 404], [404, 404], [404, 200]]
    before = [[str(group.pk)], *steps[:-1]]
    key = restricted.source.key
    assert audited(workspace) == [
        (key, {"before": one, "after": other}) for one, other in zip(before, steps, strict=True)
    ]


def test_the_same_readers_again_are_not_audited(admin, workspace, restricted, group):
    assert change(admin, workspace, restricted.source, readers=[str(group.pk)]).status_code == 200
    assert audited(workspace) == []


@pytest.mark.parametrize("whose", ["nobody", "another workspace"])
def test_a_group_that_is_not_the_workspaces_is_refused_by_its_id(admin, workspace, restricted, group, whose):
    foreign = Group.objects.create(workspace=make_workspace(), name="theirs")
    id_ = str(foreign.pk if whose == "another workspace" else uuid.uuid4())
    answers = [
        change(admin, workspace, restricted.source, title="x", readers=[str(group.pk), id_]),
        send(admin, workspace, "/sources", "post", {**NEW, "readers": [id_]}),
    ]

    for answer in answers:
        assert (answer.status_code, answer.json()["code"]) == (422, "unknown_group")
        assert id_ in answer.json()["detail"]
        assert str(group.pk) not in answer.json()["detail"]
    assert not Source.objects.filter(key="vault").exists()
    assert Source.objects.get(pk=restricted.source.pk).title == f"{CANARY} source"
    assert readers_in_table(restricted.source) == (True, {group.pk})


def test_what_is_no_list_of_ids_is_refused(admin, workspace, restricted, subtests):
    for readers in ("all", {}, ["board"], [[]], [str(uuid.uuid4())] * 101):
        with subtests.test(readers=readers):
            answer = change(admin, workspace, restricted.source, readers=readers)
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


def test_a_source_whose_group_goes_stays_restricted(admin, person, workspace, restricted, group):
    insider = person(Role.EDITOR, inside=True)
    group.delete()

    assert send(insider, workspace, f"/sources/{restricted.source.pk}").status_code == 404
    assert send(admin, workspace, f"/sources/{restricted.source.pk}").json()["readers"] == []
