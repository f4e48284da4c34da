"""Rights in the admin: nobody, members, staff and operators."""

from django.contrib.auth.models import Permission
from django.test import Client

from kebab.identity.models import Role, User
from tests.support.actors import make_member, make_person


def client_of(user):
    client = Client()
    client.force_login(user)
    return client


def staff(*permissions):
    user = make_person()
    user.is_staff = True
    user.save()
    for permission in permissions:
        app, _, codename = permission.partition(".")
        user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=codename))
    return user


def test_anonymous_user_is_sent_to_the_common_login_page(client, admin_rows):
    for address in admin_rows.pages():
        answer = client.get(address)
        assert answer.status_code == 302, address
        assert answer["Location"].startswith("/admin/login/?next=/admin/"), address
        assert client.get(answer["Location"])["Location"].startswith("/login?next=/admin/")
        assert client.post(address, {"sure": "yes"}).status_code == 302


def test_members_without_staff_status_cannot_open_the_admin(admin_rows):
    for role in (Role.VIEWER, Role.OWNER):
        client = client_of(make_member(admin_rows.workspace, role))
        for address in admin_rows.pages():
            answer = client.get(address)
            assert answer.status_code == 302, address
            assert b"hostile" not in answer.content
        assert client.get("/admin/login/?next=/admin/").status_code == 404


def test_deactivated_operator_loses_the_admin_at_once(office, client, operator):
    operator.set_password("correct horse 77")
    operator.is_active = False
    operator.save()
    assert office.get("/admin/ingest/job/").status_code == 302
    operator.is_active = True
    operator.save()
    visitor = Client()
    form = {"username": operator.email, "password": "correct horse 77"}

    assert visitor.post("/admin/login/", form)["Location"].startswith("/login")
    assert "_auth_user_id" not in visitor.session


def test_staff_see_what_their_permissions_give(admin_rows):
    client = client_of(staff("ingest.view_job"))

    assert client.get(f"/admin/ingest/job/{admin_rows.job.pk}/change/").status_code == 200
    assert client.get(f"/admin/search/document/{admin_rows.document.pk}/change/").status_code == 403
    assert "/admin/search/document/" not in client.get("/admin/").content.decode()


def test_staff_who_may_change_people_make_nobody_an_operator(operator, admin_rows):
    client = client_of(staff("people.view_user", "people.change_user"))
    form = {"email": "ada@example.org", "is_active": "on", "is_staff": "on", "is_superuser": "on"}
    client.post(f"/admin/people/user/{admin_rows.person.pk}/change/", form)
    person = User.objects.get(pk=admin_rows.person.pk)

    assert not person.is_superuser
    assert not person.is_staff
    passwords = {"password1": "correct horse 77", "password2": "correct horse 77"}
    assert client.post(f"/admin/people/user/{operator.pk}/password/", passwords).status_code == 403
    assert client.post(f"/admin/people/user/{operator.pk}/change/", form).status_code == 403


def test_only_users_change_and_nothing_is_deleted(office, admin_rows, subtests):
    for name, row in admin_rows.rows().items():
        acts = ("add", f"{row.pk}/change", f"{row.pk}/delete")
        for act in acts[2:] if name == "people/user" else acts:
            with subtests.test(name=name, act=act):
                answer = office.post(f"/admin/{name}/{act}/", {"post": "yes", "name": "x"})
                assert answer.status_code == 403
    for name in ("people/user", "search/source"):
        row = admin_rows.rows()[name]
        ticked = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
        office.post(f"/admin/{name}/", ticked)
        assert type(row)._default_manager.filter(pk=row.pk).exists()
