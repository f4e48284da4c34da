from kebab.identity.models import AuditEvent, Group, GroupMember, Membership, Role, TokenGroup
from kebab.identity.tokens import mint_token, verify_token
from kebab.people.groups import create_group
from kebab.people.operator import command_line_access
from tests.support.actors import (
    make_member,
    make_workspace,
    member_client,
)
from tests.support.concurrency import at_once
from tests.support.extensions import set_contributions


def path(workspace, group=None, user=None):
    below = "" if group is None else f"/{group.pk}"
    below += "" if user is None else f"/members/{user.pk}"
    return f"/api/v1/workspaces/{workspace.slug}/groups{below}"


def make_group(workspace, name="staff"):
    return create_group(command_line_access(workspace), name)


def make(client, workspace, name):
    return client.post(path(workspace), {"name": name}, format="json")


def acts():
    return list(AuditEvent.objects.order_by("at").values_list("action", flat=True))


def test_admin_creates_renames_and_deletes_a_group(admin, workspace):
    made = make(admin, workspace, "  Legal \t team ").json()
    assert (made["name"], made["member_count"], made["source_count"]) == ("Legal team", 0, 0)
    group = Group.objects.get(pk=made["id"])
    assert admin.patch(path(workspace, group), {"name": "Law"}, format="json").json()["name"] == "Law"
    assert [row["name"] for row in admin.get(path(workspace)).json()["results"]] == ["Law"]
    assert admin.delete(path(workspace, group)).status_code == 200
    assert not Group.objects.exists()
    assert acts() == ["group.created", "group.renamed", "group.deleted"]


def test_name_is_used_once_in_a_workspace(admin, workspace, other_workspace):
    make_group(other_workspace, "staff")
    assert make(admin, workspace, "staff").status_code == 201
    second = make(admin, workspace, " staff ")
    assert (second.status_code, second.json()["code"]) == (409, "group_name_taken")
    other = make_group(workspace, "crew")
    taken = admin.patch(path(workspace, other), {"name": "staff"}, format="json")
    assert (taken.status_code, taken.json()["code"]) == (409, "group_name_taken")
    assert admin.patch(path(workspace, other), {"name": "crew"}, format="json").status_code == 200
    assert make(admin, workspace, "Bu\u0308ro").status_code == 201
    assert make(admin, workspace, "B\u00fcro").status_code == 409


def test_unreadable_name_is_refused(admin, workspace, subtests):
    for name in ("", "   ", "a" * 101, "a\u202eb", "a\x1b[2Jb", ["a"], None):
        with subtests.test(name=name):
            response = make(admin, workspace, name)
            assert (response.status_code, response.json()["errors"][0]["field"]) == (400, "name")
    assert not Group.objects.exists()


def test_member_is_added_and_removed_or_leaves_with_the_workspace(admin, workspace):
    group, member = make_group(workspace), make_member(workspace)
    for _ in range(2):
        assert admin.put(path(workspace, group, member)).status_code == 204
    detail = admin.get(path(workspace, group)).json()
    assert [row["email"] for row in detail["members"]] == [member.email]
    assert detail["member_count"] == 1
    members = f"/api/v1/workspaces/{workspace.slug}/members"
    rows = admin.get(members).json()["results"]
    assert {row["email"]: row["groups"] for row in rows}[member.email] == [str(group.pk)]
    assert admin.delete(path(workspace, group, member)).status_code == 204
    assert admin.delete(path(workspace, group, member)).status_code == 404
    assert acts() == ["group.created", "group.member_added", "group.member_removed"]

    admin.put(path(workspace, group, member))
    assert admin.delete(f"{members}/{member.pk}").status_code == 204
    assert not GroupMember.objects.exists()
    assert Group.objects.exists()


def test_members_of_a_group_come_in_pages(admin, workspace):
    group = make_group(workspace)
    members = [make_member(workspace) for _ in range(3)]
    for member in members:
        admin.put(path(workspace, group, member))
    first = admin.get(f"{path(workspace, group)}?limit=2").json()
    rest = admin.get(f"{path(workspace, group)}?limit=2&cursor={first['next_cursor']}").json()
    assert [row["user_id"] for row in first["members"] + rest["members"]] == [each.pk for each in members]
    assert rest["next_cursor"] is None


def test_deleted_group_reports_its_contents_and_ends_its_rights(admin, workspace, monkeypatch):
    group, member = make_group(workspace), make_member(workspace)

    def count(counted, ids):
        return {group.pk: 4} if counted == workspace and group.pk in ids else {}

    set_contributions(monkeypatch, source_counters=(count,))
    admin.put(path(workspace, group, member))
    _, secret = mint_token(workspace, scopes=["search"], groups=[group])
    counts = {"member_count": 1, "token_count": 1, "source_count": 4}
    answer = admin.delete(path(workspace, group)).json()
    assert counts.items() <= answer.items()
    assert counts.items() <= AuditEvent.objects.get(action="group.deleted").detail.items()
    assert not GroupMember.objects.exists()
    assert not TokenGroup.objects.exists()
    assert verify_token(secret).group_ids == []


def test_groups_and_members_are_listed_in_a_fixed_number_of_queries(
    admin, workspace, django_assert_max_num_queries
):
    def count_queries():
        counts = []
        for kind in ("groups", "members"):
            with django_assert_max_num_queries(12) as queries:
                admin.get(f"/api/v1/workspaces/{workspace.slug}/{kind}")
            counts.append(len(queries))
        return counts

    make_group(workspace, "a")
    few = count_queries()
    for number in range(20):
        group = make_group(workspace, f"g{number}")
        admin.put(path(workspace, group, make_member(workspace)))
    assert count_queries() == few


def test_member_removed_while_being_added_to_a_group_is_in_no_group(transactional_db):
    workspace = make_workspace()
    group, member = make_group(workspace), make_member(workspace)
    add, remove = (member_client(workspace, Role.ADMIN) for _ in range(2))
    answers = at_once(
        [
            lambda: add.put(path(workspace, group, member)).status_code,
            lambda: remove.delete(f"/api/v1/workspaces/{workspace.slug}/members/{member.pk}").status_code,
        ]
    )
    assert answers in ([204, 204], [404, 204])
    assert not Membership.objects.filter(user=member).exists()
    assert not GroupMember.objects.exists()
