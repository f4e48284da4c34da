"""A workspace's settings on pages, the log of what was done, and who may what."""

import pytest

from kebab.people import audit
from kebab.people.groups import create_group
from kebab.people.models import AuditEvent, Role, Workspace
from kebab.people.operator import the_operator
from kebab.people.preferences import describe_preference, known_preferences
from kebab.people.setting_guards import register_guard
from kebab.people.tokens import mint_token
from search.errors import GoldenQueriesWorse
from search.models import Source
from tests.pages.search.shelf import make_member

SETTINGS = "/w/handbook/settings"


def stored(workspace):
    return Workspace.objects.get(pk=workspace.pk)


@pytest.fixture
def strict_gate(monkeypatch):
    """Golden queries that get worse by any change, whatever is searched."""

    def guard(change):
        if change.is_forced:
            return {"quality_gate": {"is_forced": True}}
        raise GoldenQueriesWorse("nDCG@10 falls from 0.8 to 0.5. Nothing was changed.", sentence="")

    monkeypatch.setattr("kebab.people.setting_guards._guards", [])
    register_guard(guard)


def test_name_and_slug_are_changed_and_the_page_moves_along(at, workspace, text_of):
    answer = at.post(SETTINGS, {"name": "Our book", "slug": "book"})

    assert answer["Location"] == "/w/book/settings"
    assert (stored(workspace).name, stored(workspace).slug) == ("Our book", "book")
    assert "The name is saved." in text_of(at.get("/w/book/settings"))


@pytest.mark.parametrize(
    ("fields", "status", "said"),
    [
        ({"slug": "secrets"}, 409, "is taken; choose another one."),
        ({"slug": "No!"}, 400, "lower-case letters, digits and inner hyphens"),
        ({"name": ""}, 400, "This field is required."),
    ],
)
def test_a_name_that_cannot_be_is_said_beside_the_form(
    at, workspace, other_workspace, text_of, fields, status, said
):
    answer = at.post(SETTINGS, {"name": "Typed", "slug": "handbook", **fields})

    assert answer.status_code == status
    assert said in text_of(answer)
    assert f'value="{fields.get("slug", "handbook")}"' in answer.content.decode()
    assert stored(workspace).slug == "handbook"


def test_every_setting_has_words_and_stands_on_the_page(at):
    page = at.get(SETTINGS).content.decode()

    for known, words in known_preferences():
        assert words.about, known.name
        assert words.label != known.name
        assert f'name="{known.name}"' in page


def test_settings_are_changed_and_set_back(at, workspace, text_of):
    form = {"default_k": "25", "answers_kept_days": "30", "stale_after_days": ""}
    assert "The settings are saved." in text_of(at.post(f"{SETTINGS}/values", form, follow=True))
    assert stored(workspace).settings == {"default_k": 25, "answers_kept_days": 30}
    assert 'value="25"' in at.get(SETTINGS).content.decode()
    at.post(f"{SETTINGS}/values", {"default_k": "", "answers_kept_days": "30"})

    assert stored(workspace).settings == {"answers_kept_days": 30}


def test_a_setting_without_words_is_shown_by_its_name(at, monkeypatch):
    monkeypatch.setattr("kebab.people.preferences._words", {})
    assert '<label for="id_default_k">default_k</label>' in at.get(SETTINGS).content.decode()
    describe_preference("default_k", "How many", "")

    assert known_preferences()[0][1].label == "How many"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("default_k", "many", "is not a whole number."),
        ("default_k", "100000", "is not a whole number from 1 to 1000."),
        ("vector_share", "2", "is not a number from 0 to 1."),
        ("fusion", "magic", "magic is not one of the available choices"),
        ("stemming", "perhaps", "perhaps is not one of the available choices"),
    ],
)
def test_a_value_that_cannot_be_is_said_beside_its_field_and_kept(at, workspace, text_of, name, value, said):
    answer = at.post(f"{SETTINGS}/values", {"snippet_chars": "300", name: value})

    assert answer.status_code == 400
    assert said in text_of(answer)
    assert 'value="300"' in answer.content.decode()
    assert stored(workspace).settings == {}


def test_a_stored_value_that_is_no_choice_any_more_is_not_lost_unseen(at, workspace, text_of):
    Workspace.objects.filter(pk=workspace.pk).update(settings={"embedder": "gone"})
    answer = at.post(f"{SETTINGS}/values", {"embedder": "gone", "default_k": "5"})

    assert '<option value="gone" selected>' in at.get(SETTINGS).content.decode()
    assert answer.status_code == 400
    assert "&#x27;gone&#x27; is not one of" in text_of(answer)
    assert stored(workspace).settings == {"embedder": "gone"}


def test_a_gate_that_refuses_says_why_and_force_is_written_down(at, workspace, strict_gate, text_of):
    answer = at.post(f"{SETTINGS}/values", {"rrf_k": "5"})

    assert answer.status_code == 409
    assert "nDCG@10 falls from 0.8 to 0.5." in text_of(answer)
    assert 'name="force"' in answer.content.decode()
    assert 'value="5"' in answer.content.decode()
    assert stored(workspace).settings == {}
    assert 'name="force"' not in at.get(SETTINGS).content.decode()
    at.post(f"{SETTINGS}/values", {"rrf_k": "5", "force": "1"})
    assert stored(workspace).settings == {"rrf_k": 5}
    assert AuditEvent.objects.get(action="workspace.changed").detail["quality_gate"]["is_forced"]


def test_only_an_owner_who_types_the_slug_deletes_the_workspace(at, as_person, admin, workspace, text_of):
    assert "Delete the workspace" not in text_of(as_person(admin).get(SETTINGS))
    assert as_person(admin).post(f"{SETTINGS}/delete", {"slug": "handbook"}).status_code == 403
    wrong = at.post(f"{SETTINGS}/delete", {"slug": "secrets"})

    assert wrong.status_code == 400
    assert "This is not handbook." in text_of(wrong)
    assert Workspace.objects.filter(pk=workspace.pk).exists()
    done = at.post(f"{SETTINGS}/delete", {"slug": "handbook"})
    assert done["Location"] == "/"
    assert not Workspace.objects.filter(pk=workspace.pk).exists()


def test_viewers_and_editors_see_and_change_nothing_of_it(as_person, viewer, workspace):
    editor = make_member(workspace, "eddy@example.org", Role.EDITOR)
    for visitor in (as_person(viewer), as_person(editor)):
        for address in (SETTINGS, "/w/handbook/audit", f"/w/handbook/people/{viewer.pk}/access"):
            assert visitor.get(address).status_code == 403
        for below in ("", "/values", "/delete"):
            form = {"name": "x", "slug": "handbook", "default_k": "5"}
            assert visitor.post(SETTINGS + below, form).status_code == 403
    assert (stored(workspace).name, stored(workspace).settings) == ("Team handbook", {})


def test_a_strangers_settings_are_like_none(at, other_workspace):
    for below in ("settings", "audit", "people/1/access"):
        strange, missing = (at.get(f"/w/{slug}/{below}") for slug in ("secrets", "missing"))
        assert strange.status_code == missing.status_code == 404
        assert strange.content == missing.content
    assert at.post("/w/secrets/settings/delete", {"slug": "secrets"}).status_code == 404
    assert Workspace.objects.filter(slug="secrets").exists()


def test_the_log_is_listed_newest_first_and_narrowed(at, workspace, text_of):
    operator = the_operator(workspace)
    create_group(operator, "Legal")
    audit.record(operator, "member.added", "<b>vera</b>", role="viewer")
    page = at.get("/w/handbook/audit")

    assert [shown.event.action for shown in page.context["events"]] == ["member.added", "group.created"]
    assert "&lt;b&gt;vera&lt;/b&gt;" in page.content.decode()
    narrowed = at.get("/w/handbook/audit", {"action": "group."})
    assert [shown.event.subject for shown in narrowed.context["events"]] == ["Legal"]
    assert "Nothing like that was done here." in text_of(at.get("/w/handbook/audit", {"actor": "nobody"}))
    assert at.get("/w/handbook/audit", {"action": "x" * 65}).status_code == 400


def test_the_log_of_another_workspace_is_not_in_it(at, workspace, other_workspace):
    create_group(the_operator(other_workspace), "Theirs")

    assert b"Theirs" not in at.get("/w/handbook/audit").content


def test_the_access_of_a_member_and_of_a_token_is_told_with_reasons(at, viewer, workspace, text_of):
    Source.objects.create(workspace=workspace, key="wiki", kind="upload")
    token, _ = mint_token(workspace, scopes=["search"], name="Bot")
    member = text_of(at.get(f"/w/handbook/people/{viewer.pk}/access"))
    tool = text_of(at.get(f"/w/handbook/tokens/{token.pk}/access"))

    assert "What vera@example.org can see and do" in member
    assert "The role is viewer; this needs admin." in member
    assert "wiki" in member and "wiki" in tool
    assert "This token lacks the scope ask." in tool


def test_a_source_that_is_not_there_is_told_on_an_access_page_and_can_be_typed_again(
    at, viewer, workspace, text_of
):
    Source.objects.create(workspace=workspace, key="wiki", kind="upload")
    answer = at.get(f"/w/handbook/people/{viewer.pk}/access", {"source": "wikki"})

    assert answer.status_code == 200
    assert "No source has the key or id wikki" in text_of(answer)
    assert 'value="wikki"' in answer.content.decode()
    assert "There is no source yet." not in text_of(answer)


def test_the_access_of_who_is_not_here_is_not_told(at, other_workspace):
    stranger = make_member(other_workspace, "stranger@example.org")
    foreign, _ = mint_token(other_workspace, scopes=["search"])

    assert at.get(f"/w/handbook/people/{stranger.pk}/access").status_code == 404
    assert at.get(f"/w/handbook/tokens/{foreign.pk}/access").status_code == 404
