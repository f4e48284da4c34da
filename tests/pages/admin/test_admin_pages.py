"""Pages of the admin: escaping, hidden secrets, and searches."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kebab.admin.site import site
from kebab.identity.models import AuditEvent, User
from tests.pages.admin.bulk_rows import fill
from tests.support.actors import make_workspace


@pytest.mark.slow
def test_no_page_lets_hostile_text_become_markup_or_shows_a_secret(office, admin_rows, subtests):
    digest = bytes(admin_rows.token.secret_sha256).hex()
    secrets = (admin_rows.secret, admin_rows.secret[-20:], digest, "sealed-canary", "sha256")
    for address in admin_rows.pages():
        with subtests.test(address=address):
            response = office.get(address, follow=True)
            text = response.content.decode()
            assert response.status_code == 200
            assert "<script>document" not in text
            assert "<img src=x" not in text
            assert not [secret for secret in secrets if secret in text]


def test_admin_row_escapes_hostile_text_and_links_to_related_rows(office, admin_rows):
    escaped = "&lt;script&gt;document.title=&#x27;pwned&#x27;&lt;/script&gt;"

    def page(name, row):
        return office.get(f"/admin/{name}/{row.pk}/change/").content.decode()

    for name in ("people/workspace", "people/auditevent", "search/document", "search/source", "ingest/job"):
        assert escaped in page(name, admin_rows.rows()[name]), name
    assert f"/admin/search/source/{admin_rows.source.pk}/change/" in page("ingest/job", admin_rows.job)
    assert "a.bin" in page("ingest/job", admin_rows.failed)
    gone = admin_rows.event_of_gone  # of a workspace that is no more
    assert str(gone.workspace_id) in page("people/auditevent", gone)


def test_documents_are_listed_and_found_by_path_and_id_in_one_workspace(office, admin_rows):
    other, address = make_workspace("zoo"), "/admin/search/document/"
    answer = office.get(address)
    assert answer["Location"] == f"{address}?workspace__id__exact={admin_rows.workspace.pk}"
    row = f"{address}{admin_rows.document.pk}/change/"
    for asked, workspace, is_found in (
        ({}, admin_rows.workspace, True),
        ({}, other, False),
        ({"path__icontains": "HOSTILE/"}, admin_rows.workspace, True),
        ({"path__icontains": "nothing"}, admin_rows.workspace, False),
        ({"q": admin_rows.document.doc_id.hex}, admin_rows.workspace, True),
        ({"q": admin_rows.document.doc_id.hex}, other, False),
        ({"q": "nothing"}, admin_rows.workspace, False),
    ):
        page = office.get(address, {**asked, "workspace__id__exact": workspace.pk})
        assert (row in page.content.decode()) is is_found, asked


def test_row_is_found_by_how_its_key_begins_or_its_id(office, admin_rows):
    for name, term, wrong in (
        ("people/workspace", "HAND", "andbook"),
        ("people/workspace", str(admin_rows.workspace.pk), "0" * 32),
        ("people/apitoken", admin_rows.secret, "kbb_nothing"),
        ("search/source", "doc", "ocs"),
        ("search/source", str(admin_rows.source.pk), "0" * 32),
        ("ingest/job", str(admin_rows.failed.pk), "sync"),
    ):
        row = f"/admin/{name}/{admin_rows.rows()[name].pk}/change/"
        assert row in office.get(f"/admin/{name}/", {"q": term}).content.decode(), name
        assert row not in office.get(f"/admin/{name}/", {"q": wrong}).content.decode(), name


def test_the_audit_log_is_filtered_by_actor_and_by_a_part_of_the_action(office, admin_rows):
    AuditEvent.objects.create(actor="bob@example.org", action="member.added", subject="needle")
    AuditEvent.objects.create(actor="eve@example.org", action="token.revoked", subject="hay")
    for chosen in ("actor=bob@example.org", "action__icontains=member"):
        page = office.get(f"/admin/people/auditevent/?{chosen}").content.decode()
        assert "needle" in page
        assert "hay<" not in page


def test_address_made_by_hand_filters_by_no_other_column(office, workspace):
    for address in (
        "/admin/search/document/?workspace__id__exact={ws}&title__icontains=a",
        "/admin/search/document/?workspace__id__exact={ws}&path__regex=a",
        "/admin/people/user/?password__startswith=a",
        "/admin/people/apitoken/?secret_sha256__gt=a",
        "/admin/search/source/?sealed_credentials__startswith=a",
    ):
        assert office.get(address.format(ws=workspace.pk)).status_code == 400, address


def test_start_page_has_figures_of_what_the_user_may_see(office, admin_rows, client):
    found = office.get("/admin/").content.decode()
    failed = re.search(
        r'href="(/admin/ingest/job/\?state__exact=failed)".*?<strong[^>]*>(\d+)<', found, re.DOTALL
    )
    assert failed[2] == "1"
    assert str(admin_rows.failed.pk) in office.get(failed[1]).content.decode()
    assert 'href="/admin/search/document/?"' in found
    client.force_login(User.objects.create_user("staff@example.org", is_staff=True))
    assert "/admin/ingest/job/" not in client.get("/admin/").content.decode()


@pytest.mark.slow
def test_admin_lists_survive_wrong_parameters_and_missing_rows(office, admin_rows, subtests):
    wrong = ("workspace__id__exact=x", "version=x", "p=x", "p=9999", "o=1.2", "e=1")
    ids = ("0", "x", "00000000-0000-0000-0000-000000000000", "9" * 30, "a/b")
    for number, name in enumerate(admin_rows.rows()):
        with subtests.test(name=name):
            for asked in (wrong[number % len(wrong)], "p=x"):
                assert office.get(f"/admin/{name}/?{asked}", follow=True).status_code in (200, 400), asked
            for id_ in ids:
                assert office.get(f"/admin/{name}/{id_}/change/").status_code in (302, 404), id_
            nul = f"/admin/{name}/?q=%00&state__exact=%00&actor=%00"
            assert office.get(nul).status_code == 400


# Their lists are of one workspace.
_OF_WORKSPACE = {"search/document", "search/embeddingspace", "search/sourceversion"}


@pytest.mark.slow
def test_list_takes_as_many_statements_for_many_rows_as_for_few(office, transactional_db, workspace):
    names = [model._meta.label_lower.replace(".", "/") for model in site._registry]
    fill(workspace, documents=2, chunks=2, others=2, sources=2, few=2)
    few = {name: _rows_and_statements(office, workspace, name) for name in names}
    fill(workspace, documents=200, chunks=200, others=200, sources=200, few=200)
    many = {name: _rows_and_statements(office, workspace, name) for name in names}

    assert {name: rows for name, (rows, _) in few.items() if rows > 4} == {}
    assert {name: rows for name, (rows, _) in many.items() if rows != 50} == {}
    assert {name: asked for name, (_, asked) in many.items()} == {
        name: asked for name, (_, asked) in few.items()
    }


def _rows_and_statements(office, workspace, name):
    parameters = {"workspace__id__exact": workspace.pk} if name in _OF_WORKSPACE else {}
    with CaptureQueriesContext(connection) as asked:
        page = office.get(f"/admin/{name}/", parameters)
    assert page.status_code == 200, name
    return len(set(re.findall(rf"/admin/{name}/([^/]+)/change/", page.content.decode()))), len(asked)
