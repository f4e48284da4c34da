"""The settings page, the audit log page, and their permissions."""

import csv
import json
import uuid
from datetime import UTC, datetime
from io import StringIO
from unittest.mock import patch

import pytest
from asgiref.sync import async_to_sync

from kebab.identity.models import AuditEvent, Role, Workspace
from kebab.identity.tokens import mint_token
from kebab.people import audit
from kebab.people.groups import create_group
from kebab.people.operator import command_line_access
from kebab.people.workspace_settings.registry import known_preferences
from search.errors import GoldenQueriesWorse
from search.models import Source
from tests.pages.page_text import markup_of, text_of
from tests.pages.search.shelf import make_member
from tests.support.corpus import write
from tests.support.extensions import set_contributions

SETTINGS = "/w/handbook/settings"
AUDIT = "/w/handbook/audit"


def stored_workspace(workspace):
    return Workspace.objects.get(pk=workspace.pk)


@pytest.fixture
def strict_gate(monkeypatch):
    """Make every change of settings fail the quality gate."""

    def guard(change):
        if change.is_forced:
            return {"quality_gate": {"is_forced": True}}
        raise GoldenQueriesWorse("nDCG@10 falls from 0.8 to 0.5. Nothing was changed.", sentence="")

    set_contributions(monkeypatch, settings_guards=(guard,))


def test_name_and_slug_are_changed_or_refused_at_the_form(at, workspace, other_workspace):
    for fields, status in (({"slug": "secrets"}, 409), ({"slug": "No!"}, 400), ({"name": ""}, 400)):
        answer = at.post(SETTINGS, {"name": "Typed", "slug": "handbook", **fields})
        assert answer.status_code == status, fields
        assert f'value="{fields.get("slug", "handbook")}"' in answer.content.decode()
        assert stored_workspace(workspace).slug == "handbook"
    answer = at.post(SETTINGS, {"name": "Our book", "slug": "book"})

    assert answer["Location"] == "/w/book/settings"
    assert (stored_workspace(workspace).name, stored_workspace(workspace).slug) == ("Our book", "book")


def test_every_setting_is_shown_with_a_label_and_a_help_text(at):
    pages = {
        section: at.get(f"{SETTINGS}{below}").content.decode()
        for section, below in (("general", ""), ("search", "/search"), ("retention", "/retention"))
    }
    for name, known in known_preferences().items():
        assert known.about, name
        assert known.label != name
        shown = [section for section, page in pages.items() if f'name="{name}"' in page]
        assert shown == ([] if known.section is None else [known.section]), name


def test_settings_are_changed_and_reset_without_losing_other_values(at, workspace):
    named = {"name": "Team handbook", "slug": "handbook"}
    at.post(f"{SETTINGS}/retention", {"answers_kept_days": "30"})
    at.post(SETTINGS, {**named, "default_k": "25", "stale_after_days": ""})
    assert stored_workspace(workspace).settings == {"default_k": 25, "answers_kept_days": 30}
    assert 'value="25"' in at.get(SETTINGS).content.decode()
    at.post(SETTINGS, {**named, "default_k": ""})
    assert stored_workspace(workspace).settings == {"answers_kept_days": 30}

    Workspace.objects.filter(pk=workspace.pk).update(settings={"embedder": "gone"})  # no choice any more
    assert '<option value="gone" selected>' in at.get(f"{SETTINGS}/search").content.decode()
    assert at.post(f"{SETTINGS}/search", {"embedder": "gone", "rrf_k": "5"}).status_code == 400
    assert stored_workspace(workspace).settings == {"embedder": "gone"}


def test_numbers_are_read_and_shown_as_in_the_readers_language(at, workspace):
    german = {"HTTP_ACCEPT_LANGUAGE": "de"}
    at.post(f"{SETTINGS}/search", {"vector_share": "0,6"}, **german)
    assert stored_workspace(workspace).settings["vector_share"] == 0.6
    assert 'value="0,6"' in at.get(f"{SETTINGS}/search", **german).content.decode()
    refused = at.post(f"{SETTINGS}/search", {"vector_share": "1,5"}, **german)
    assert "ist keine Zahl von 0 bis 1" in refused.content.decode()


def test_invalid_value_is_refused_at_its_field_keeping_input(at, workspace, subtests):
    for name, value in (
        ("rrf_k", "many"),
        ("rrf_k", "100000"),
        ("vector_share", "2"),
        ("fusion", "magic"),
        ("stemming", "perhaps"),
    ):
        with subtests.test(name=name, value=value):
            answer = at.post(f"{SETTINGS}/search", {"chunk_tokens": "300", name: value})
            assert answer.status_code == 400
            assert f'id="id_{name}_error"' in answer.content.decode()
            assert 'value="300"' in answer.content.decode()
            assert stored_workspace(workspace).settings == {}


def test_refusing_gate_shows_its_reason_and_force_is_audited(at, workspace, strict_gate):
    answer = at.post(f"{SETTINGS}/search", {"rrf_k": "5"})

    assert answer.status_code == 409
    assert "nDCG@10" in answer.content.decode()
    assert 'name="force"' in answer.content.decode()
    assert 'value="5"' in answer.content.decode()
    assert stored_workspace(workspace).settings == {}
    assert 'name="force"' not in at.get(f"{SETTINGS}/search").content.decode()
    at.post(f"{SETTINGS}/search", {"rrf_k": "5", "force": "1"})
    assert stored_workspace(workspace).settings == {"rrf_k": 5}
    assert AuditEvent.objects.get(action="workspace.changed").detail["quality_gate"]["is_forced"]


def test_only_an_owner_who_types_the_slug_deletes_the_workspace(at, as_person, admin, workspace):
    link = f'href="{SETTINGS}/delete"'
    assert link in at.get(SETTINGS).content.decode()
    assert link not in as_person(admin).get(SETTINGS).content.decode()
    assert as_person(admin).get(f"{SETTINGS}/delete").context["missing_role"] == Role.OWNER
    assert at.post(f"{SETTINGS}/delete", {"slug": "secrets"}).status_code == 400
    assert Workspace.objects.filter(pk=workspace.pk).exists()
    assert at.post(f"{SETTINGS}/delete", {"slug": "handbook"})["Location"] == "/"
    assert not Workspace.objects.filter(pk=workspace.pk).exists()


def test_log_is_listed_newest_first_and_narrowed(at, workspace, other_workspace):
    create_group(command_line_access(other_workspace), "Theirs")
    operator = command_line_access(workspace)
    create_group(operator, "Legal")
    audit.record(operator, "member.added", "<b>vera</b>", role="viewer")
    page = at.get(AUDIT)

    assert [event.action for event in page.context["list"].rows] == ["member.added", "group.created"]
    assert "&lt;b&gt;vera&lt;/b&gt;" in page.content.decode()
    narrowed = at.get(AUDIT, {"action": "group."})
    assert [event.subject for event in narrowed.context["list"].rows] == ["Legal"]
    assert list(at.get(AUDIT, {"actor": "nobody"}).context["list"].rows) == []
    assert at.get(AUDIT, {"action": "x" * 65}).status_code == 400
    assert dict(page.context["form"].fields["action"].choices)["member."] == "Member: all"
    assert "Member: added" in text_of(page)
    assert operator.actor in dict(page.context["form"].fields["actor"].choices)


def test_log_is_narrowed_to_days_of_the_readers_time_zone(at, owner, workspace):
    type(owner).objects.filter(pk=owner.pk).update(time_zone="Pacific/Auckland")
    late = datetime(2026, 3, 1, 13, tzinfo=UTC)  # the second of March in Auckland
    with patch("django.utils.timezone.now", return_value=late):
        audit.record(command_line_access(workspace), "member.added", "vera")
    for days, count in (
        ({"since": "2026-03-02", "until": "2026-03-02"}, 1),
        ({"until": "2026-03-01"}, 0),
        ({"since": "2026-03-03"}, 0),
        ({"since": "0001-01-01", "until": "9999-12-31"}, 1),
    ):
        assert len(at.get(AUDIT, days).context["list"].rows) == count, days
    for wrong in ({"since": "yesterday"}, {"until": "0000-00-00"}):
        assert at.get(AUDIT, wrong).status_code == 400
        assert at.get(f"{AUDIT}.csv", wrong).status_code == 400


def test_log_is_downloaded_as_csv_without_formulas(at, workspace, other_workspace, monkeypatch):
    monkeypatch.setattr("kebab.people.pages.audit._CSV_BATCH", 1)
    create_group(command_line_access(other_workspace), "Theirs")
    for subject in ("first", '=HYPERLINK("x")', "third"):
        audit.record(command_line_access(workspace), "member.added", subject, role="viewer")

    def rows_of(response):
        assert response["Content-Type"].startswith("text/csv")

        async def read():
            return b"".join([part async for part in response.streaming_content]).decode()

        return list(csv.DictReader(StringIO(async_to_sync(read)())))

    rows = rows_of(at.get(f"{AUDIT}.csv", {"action": "member."}))
    assert [row["subject"] for row in rows] == ["third", """'=HYPERLINK("x")""", "first"]
    assert json.loads(rows[0]["detail"])["role"] == "viewer"
    assert rows_of(at.get(f"{AUDIT}.csv", {"actor": "nobody"})) == []
    monkeypatch.setattr("kebab.people.pages.audit.CSV_ROWS", 2)
    assert len(rows_of(at.get(f"{AUDIT}.csv"))) == 2


def test_access_of_a_member_and_of_a_token_is_shown(at, viewer, workspace):
    Source.objects.create(workspace=workspace, key="wiki", kind="upload")
    token, _ = mint_token(workspace, scopes=["search"], name="Bot")
    member = text_of(at.get(f"/w/handbook/people/{viewer.pk}/access"))
    tool = text_of(at.get(f"/w/handbook/tokens/{token.pk}/access"))
    mistyped = at.get(f"/w/handbook/people/{viewer.pk}/access", {"source": "wikki"})

    assert "vera@example.org" in member and "Needs the role Admin" in member
    assert "wiki" in member and "wiki" in tool
    assert "scope ask" in tool
    assert 'value="wikki"' in markup_of(mistyped)


def test_access_to_one_document_is_shown(at, viewer, workspace):
    document = write(workspace, "guides/leave.md", "apple", source="wiki")
    page = f"/w/handbook/people/{viewer.pk}/access"
    (thing,) = at.get(page, {"document": document.doc_id.hex}).context["report"].things
    assert (thing.kind, thing.name, thing.is_searchable) == ("document", "guides/leave.md", True)
    for missing in (uuid.uuid4().hex, "leave.md"):
        shown = at.get(page, {"document": missing})
        assert (shown.context["is_unknown"], f'value="{missing}"' in markup_of(shown)) == (True, True)


def test_access_of_a_non_member_is_not_shown(at, other_workspace):
    stranger = make_member(other_workspace, "stranger@example.org")
    foreign, _ = mint_token(other_workspace, scopes=["search"])

    assert at.get(f"/w/handbook/people/{stranger.pk}/access").status_code == 404
    assert at.get(f"/w/handbook/tokens/{foreign.pk}/access").status_code == 404
