"""What the admin's pages show: everything escaped, nothing secret, and what was looked for."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kebab.operating.site import site
from kebab.people.models import AuditEvent
from tests.pages.admin.filling import HOSTILE, Filled
from tests.pages.admin.many import fill
from tests.support.actors import make_workspace


def test_no_page_lets_hostile_text_become_markup(office, filled):
    for address in filled.pages():
        response = office.get(address, follow=True)
        text = response.content.decode()
        assert response.status_code == 200, address
        assert "<script>document" not in text, address
        assert "<img src=x" not in text, address


def test_hostile_text_is_shown_as_it_is(office, filled):
    escaped = "&lt;script&gt;document.title=&#x27;pwned&#x27;&lt;/script&gt;"
    for name in ("people/workspace", "people/auditevent", "search/document", "search/source", "ingest/job"):
        text = office.get(f"/admin/{name}/{filled.rows()[name].pk}/change/").content.decode()
        assert escaped in text, name


def test_no_secret_and_no_digest_is_shown(office, filled):
    secrets = (
        filled.secret,
        filled.secret[-20:],
        bytes(filled.token.secret_sha256).hex(),
        "sealed-canary",
        "sha256",
    )
    for address in filled.pages():
        text = office.get(address, follow=True).content.decode()
        assert not [secret for secret in secrets if secret in text], address


def test_a_source_says_who_reads_it_and_that_it_has_credentials(office, filled):
    text = office.get(f"/admin/search/source/{filled.source.pk}/change/").content.decode()

    assert f"/admin/people/group/{filled.group.pk}/change/" in text
    assert "Credentials" in text


def test_a_job_shows_its_bar_and_what_was_left_out(office, filled):
    running = office.get(f"/admin/ingest/job/{filled.job.pk}/change/").content.decode()
    failed = office.get(f"/admin/ingest/job/{filled.failed.pk}/change/").content.decode()

    assert '<progress max="40" value="10">' in running
    assert "No parser reads files of this kind." in failed
    assert "a.bin" in failed


def test_passages_are_shown_in_their_order(office, workspace):
    filled = Filled(workspace)
    page = office.get(f"/admin/search/document/{filled.document.pk}/passages/").content.decode()

    assert "document.title=&#x27;pwned&#x27;" in page


def test_an_event_of_a_workspace_that_is_gone_is_shown(office, filled):
    page = office.get(f"/admin/people/auditevent/{filled.event_of_gone.pk}/change/").content.decode()

    assert str(filled.event_of_gone.workspace_id) in page


def test_documents_are_listed_for_one_workspace(office, filled):
    other = make_workspace("zoo")
    answer = office.get("/admin/search/document/")

    assert answer["Location"] == f"/admin/search/document/?workspace__id__exact={filled.workspace.pk}"
    assert "hostile/" in office.get(answer["Location"]).content.decode()
    elsewhere = office.get(f"/admin/search/document/?workspace__id__exact={other.pk}").content.decode()
    assert "hostile/" not in elsewhere


def test_a_document_is_found_by_its_path_its_id_and_how_its_title_begins(office, filled):
    ws = f"workspace__id__exact={filled.workspace.pk}"
    row = f"/admin/search/document/{filled.document.pk}/change/"
    for term in (filled.document.path, filled.document.doc_id.hex, HOSTILE[:9]):
        page = office.get(
            f"/admin/search/document/?{ws}", {"q": term, "workspace__id__exact": filled.workspace.pk}
        )
        assert row in page.content.decode(), term
    page = office.get(
        "/admin/search/document/", {"q": "nothing", "workspace__id__exact": filled.workspace.pk}
    )
    assert row not in page.content.decode()


def test_a_source_is_found_by_how_its_key_begins_only_in_a_workspace(office, filled):
    row = f"/admin/search/source/{filled.source.pk}/change/"

    assert row in office.get("/admin/search/source/?q=docs").content.decode()
    assert row not in office.get("/admin/search/source/?q=doc").content.decode()
    within = office.get("/admin/search/source/", {"q": "doc", "workspace__id__exact": filled.workspace.pk})
    assert row in within.content.decode()


def test_the_audit_log_is_filtered_by_actor_and_by_how_the_action_begins(office, filled):
    AuditEvent.objects.create(actor="bob@example.org", action="member.added", subject="needle")
    AuditEvent.objects.create(actor="eve@example.org", action="token.revoked", subject="hay")
    for chosen in ("actor=bob@example.org", "action_begins=member"):
        page = office.get(f"/admin/people/auditevent/?{chosen}").content.decode()
        assert "needle" in page
        assert "hay<" not in page


@pytest.mark.parametrize(
    "address",
    [
        "/admin/search/document/?workspace__id__exact={ws}&title__icontains=a",
        "/admin/search/document/?workspace__id__exact={ws}&path__regex=a",
        "/admin/people/user/?password__startswith=a",
        "/admin/people/apitoken/?secret_sha256__gt=a",
        "/admin/search/source/?sealed_credentials__startswith=a",
    ],
)
def test_an_address_made_by_hand_filters_by_no_other_column(office, workspace, address):
    assert office.get(address.format(ws=workspace.pk)).status_code == 400


@pytest.mark.parametrize("wrong", ["workspace__id__exact=x", "version=x", "p=x", "p=9999", "o=1.2", "e=1"])
def test_a_wrong_parameter_breaks_no_list(office, filled, wrong):
    for name in filled.rows():
        assert office.get(f"/admin/{name}/?{wrong}", follow=True).status_code in (200, 400), name


@pytest.mark.parametrize("id_", ["0", "x", "00000000-0000-0000-0000-000000000000", "9" * 30, "a/b"])
def test_a_row_that_is_not_there_leads_back_to_the_index(office, filled, id_):
    for name in filled.rows():
        answer = office.get(f"/admin/{name}/{id_}/change/")
        assert answer.status_code in (302, 404), name


def test_an_address_with_a_nul_is_refused(office, filled):
    for name in filled.rows():
        assert office.get(f"/admin/{name}/?q=%00&state__exact=%00&actor=%00").status_code == 400


# Their lists are of one workspace.
_OF_WORKSPACE = {"search/document", "search/embeddingspace", "search/sourceversion"}


def test_a_list_takes_as_many_statements_for_many_rows_as_for_few(office, transactional_db, workspace):
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
