"""Sources added and changed on pages."""

import pytest

from ingest.models import Job
from kebab.people.models import AuditEvent, Group
from search.models import Source
from search.readers import readers_of, restrict, with_readers
from tests.support.jobs import fill

NEW = "/w/handbook/sources/new"


@pytest.fixture
def root(tmp_path, settings):
    settings.KEBAB_FOLDER_ROOTS = [tmp_path.resolve()]
    fill(tmp_path / "docs", {"a.md": "# Alpha\n\nfirst\n"})
    return tmp_path / "docs"


@pytest.fixture
def board(workspace):
    return Group.objects.create(workspace=workspace, name="Board")


@pytest.fixture
def docs(workspace):
    return Source.objects.create(
        workspace=workspace, key="docs", kind="folder", title="Docs", config={"path": "/d"}, watch=True
    )


def add(client, kind, **fields):
    return client.post(f"{NEW}?kind={kind}", {"title": "Our docs", "trust": "unknown", **fields})


def edit(client, source, **fields):
    told = {"title": "Docs", "trust": "unknown", **fields}
    return client.post(f"/w/handbook/sources/{source.pk}/edit", told)


def text_of(response):
    return " ".join(response.content.decode().split())


def the_source():
    return with_readers(Source.objects.all()).get()


def test_a_folder_is_added_and_read_at_once(visit, editor, root):
    told = {"path": str(root), "tags": "guide, , product", "schedule": "60", "watch": "on"}
    answer = add(visit(editor), "folder", **told, trust="primary", description="All of it")
    source = the_source()

    assert answer["Location"] == f"/w/handbook/jobs/{Job.objects.get(source=source).pk}"
    assert (source.key, source.title, source.kind) == ("our-docs", "Our docs", "folder")
    assert (source.config, source.watch) == ({"path": str(root)}, True)
    assert (source.default_tags, source.default_trust) == (["guide", "product"], "primary")
    assert (source.sync_every_minutes, source.description) == (60, "All of it")
    assert Job.objects.get(source=source).requested_by == editor.email


def test_a_repository_is_added_with_what_it_is_read_with(visit, editor):
    told = {"url": "https://git.example.org/a/b.git", "branch": "main", "version_tags": "v*, r*"}
    add(visit(editor), "git", **told, username="bot", token="s3cret", key="code")
    source = the_source()

    assert source.key == "code"
    assert source.config == {"url": told["url"], "branch": "main", "tags": ["v*", "r*"]}
    assert source.sealed_credentials
    assert "s3cret" not in text_of(visit(editor).get(f"/w/handbook/sources/{source.pk}"))


def test_a_site_is_added_with_the_pages_to_read(visit, editor):
    told = {"url": "https://docs.example.org/guide/", "include": "guide/**", "max_pages": "50"}
    add(visit(editor), "web", **told)

    assert the_source().config | {"include": ["guide/**"], "max_pages": 50} == the_source().config


def test_a_folder_outside_the_allowed_ones_is_refused_beside_its_field_and_nothing_is_lost(
    visit, editor, root
):
    answer = add(visit(editor), "folder", path="/etc", tags="kept", description="<b>kept</b>")
    page = text_of(answer)

    assert answer.status_code == 422
    assert 'id="id_path_error"' in page
    assert "lies outside the folders that may be read here" in page
    assert 'value="kept"' in page
    assert "&lt;b&gt;kept&lt;/b&gt;" in page
    assert not Source.objects.exists()


@pytest.mark.parametrize(
    ("kind", "fields", "field"),
    [
        ("git", {"url": "ftp://x"}, "url"),
        ("git", {"url": "https://git.example.org/a.git", "version_tags": "[" * 300}, "version_tags"),
        ("web", {"url": "not an address"}, "url"),
        ("web", {"url": "https://docs.example.org/", "include": "[" * 300}, "include"),
        ("web", {"url": "https://docs.example.org/", "max_pages": "99999999"}, "max_pages"),
        ("git", {"url": "https://git.example.org/a.git", "key": "No Key"}, "key"),
        ("git", {"url": "https://git.example.org/a.git", "username": "only"}, "token"),
        ("git", {"title": "", "url": "https://git.example.org/a.git"}, "title"),
    ],
)
def test_what_is_wrong_is_told_beside_its_field(visit, editor, kind, fields, field):
    answer = add(visit(editor), kind, **fields)

    assert answer.status_code in (400, 422)
    assert 'role="alert"' in text_of(answer)
    assert f'id="id_{field}_error"' in text_of(answer)
    assert not Source.objects.exists()


def test_a_key_that_is_taken_is_told(visit, editor, docs):
    answer = add(visit(editor), "git", url="https://git.example.org/a.git", key="docs")

    assert answer.status_code == 409
    assert "is taken; choose another one" in text_of(answer)


def test_a_token_that_was_sent_is_not_given_back(visit, editor):
    answer = add(visit(editor), "git", url="ftp://x", token="s3cret")

    assert "s3cret" not in text_of(answer)


def test_the_allowed_folders_are_told_before_one_is_named(visit, editor, root, settings):
    assert str(root.parent.resolve()) in text_of(visit(editor).get(f"{NEW}?kind=folder"))
    settings.KEBAB_FOLDER_ROOTS = []
    assert "The operator allows no folder yet" in text_of(visit(editor).get(f"{NEW}?kind=folder"))


def test_the_kinds_are_offered_and_another_is_not_found(visit, editor):
    page = text_of(visit(editor).get(NEW))

    for kind in ("folder", "git", "web"):
        assert f"?kind={kind}" in page
    assert visit(editor).get(f"{NEW}?kind=upload").status_code == 404
    assert visit(editor).post(NEW, {"title": "x"}).status_code == 404


def test_viewers_add_and_edit_nothing(visit, viewer, docs):
    client = visit(viewer)

    assert client.get(NEW).status_code == 403
    assert add(client, "git", url="https://git.example.org/a.git").status_code == 403
    assert edit(client, docs, title="Mine").status_code == 403
    assert NEW not in text_of(client.get("/w/handbook/sources"))
    docs.refresh_from_db()
    assert docs.title == "Docs"


def test_what_is_said_of_a_source_is_changed(visit, editor, docs):
    client = visit(editor)
    shown = text_of(client.get(f"/w/handbook/sources/{docs.pk}/edit"))
    edit(client, docs, title="Guides", tags="a, b", trust="secondary", schedule="1440")
    docs.refresh_from_db()

    assert 'value="Docs"' in shown
    assert (docs.title, docs.default_tags, docs.default_trust) == ("Guides", ["a", "b"], "secondary")
    assert (docs.sync_every_minutes, docs.watch) == (1440, False)


def test_what_was_not_touched_is_not_written(visit, admin, docs, board):
    said = {"description": "One\nline and another", "default_tags": ["Paris, France", "b"], "title": ""}
    Source.objects.filter(pk=docs.pk).update(**said)
    client = visit(admin)
    shown = client.get(f"/w/handbook/sources/{docs.pk}/edit").context["form"]
    sent = {field.html_name: field.value() for field in shown if field.value()}
    edit(client, docs, **{**sent, "description": "One\r\nline and another", "trust": "primary"})
    docs.refresh_from_db()

    assert sent["tags"] == '"Paris, France", b'
    assert AuditEvent.objects.get(action="source.changed").detail["fields"] == ["default_trust"]
    assert (docs.default_tags, docs.title, docs.watch) == (["Paris, France", "b"], "", True)


def test_a_tag_with_a_comma_stands_in_quotes(visit, editor, docs):
    edit(visit(editor), docs, tags='"Paris, France",  "say ""hi""", plain')
    docs.refresh_from_db()

    assert docs.default_tags == ["Paris, France", 'say "hi"', "plain"]


def test_a_list_that_can_not_be_read_is_told_beside_its_field(visit, editor, docs):
    answer = edit(visit(editor), docs, tags="x" * 200_000)

    assert answer.status_code == 400
    assert 'id="id_tags_error"' in text_of(answer)


@pytest.fixture
def code(workspace):
    return Source.objects.create(
        workspace=workspace,
        key="code",
        kind="git",
        title="Code",
        config={"url": "https://git.example.org/a.git"},
    )


def test_the_token_of_a_repository_is_replaced_kept_and_forgotten_and_never_shown(visit, editor, code):
    client = visit(editor)
    edit(client, code, title="Code", token="s3cret", username="bot")
    code.refresh_from_db()
    stored, page = code.sealed_credentials, text_of(client.get(f"/w/handbook/sources/{code.pk}/edit"))
    assert stored
    assert "One is stored." in page
    assert "s3cret" not in page
    edit(client, code, title="Ours")
    code.refresh_from_db()
    assert (code.title, code.sealed_credentials) == ("Ours", stored)
    edit(client, code, title="Ours", is_forgetting="on")
    code.refresh_from_db()

    assert code.sealed_credentials == ""


def test_credentials_that_are_wrong_are_told_beside_the_token(visit, editor, code):
    answer = edit(visit(editor), code, title="Code", username="bot")

    assert answer.status_code == 400
    assert 'id="id_token_error"' in text_of(answer)


def test_only_repositories_are_asked_for_a_token(visit, editor, docs):
    edit(visit(editor), docs, token="s3cret")
    docs.refresh_from_db()

    assert "Access token" not in text_of(visit(editor).get(f"/w/handbook/sources/{docs.pk}/edit"))
    assert docs.sealed_credentials == ""


def test_readers_beyond_the_groups_that_are_offered_stay(visit, admin, workspace, docs, monkeypatch):
    monkeypatch.setattr("ingest.pages.source_editing._SHOWN_GROUPS", 1)
    first, last = (Group.objects.create(workspace=workspace, name=name) for name in ("Aft", "Watch"))
    restrict(docs, [last.pk])
    client = visit(admin)
    assert str(last.pk) in text_of(client.get(f"/w/handbook/sources/{docs.pk}/edit"))
    edit(client, docs, is_restricted="on", readers=[str(first.pk), str(last.pk)])

    assert set(readers_of(the_source())) == {first.pk, last.pk}


def test_an_unusual_schedule_stays_one_of_the_choices(visit, editor, docs):
    Source.objects.filter(pk=docs.pk).update(sync_every_minutes=47)
    page = text_of(visit(editor).get(f"/w/handbook/sources/{docs.pk}/edit"))

    assert '<option value="47" selected>every 47 minutes</option>' in page


def test_saving_something_else_leaves_a_paused_schedule_paused(visit, editor, docs):
    Source.objects.filter(pk=docs.pk).update(sync_every_minutes=60, sync_failures=8)
    edit(visit(editor), docs, title="Guides", schedule="60")
    docs.refresh_from_db()

    assert (docs.title, docs.sync_failures, docs.next_sync_at) == ("Guides", 8, None)


def test_admins_say_which_groups_read_a_source(visit, admin, docs, board):
    client = visit(admin)
    edit(client, docs, is_restricted="on", readers=[str(board.pk)])
    assert readers_of(the_source()) == [board.pk]
    assert "checked" in text_of(client.get(f"/w/handbook/sources/{docs.pk}/edit"))
    edit(client, docs)

    assert readers_of(the_source()) is None


def test_editors_are_not_asked_who_reads_it_and_change_nothing_of_it(visit, editor, workspace, docs, board):
    client = visit(editor)
    assert "Only these groups" not in text_of(client.get(f"/w/handbook/sources/{docs.pk}/edit"))
    edit(client, docs, title="Ours", is_restricted="on", readers=[str(board.pk)])

    assert the_source().title == "Ours"
    assert readers_of(the_source()) is None


def test_a_source_is_restricted_from_its_first_moment(visit, admin, board, root):
    add(visit(admin), "folder", path=str(root), is_restricted="on", readers=[str(board.pk)])

    assert readers_of(the_source()) == [board.pk]


def test_a_hidden_source_is_edited_like_a_missing_one(visit, editor, docs, board):
    restrict(docs, [board.pk])
    client = visit(editor)
    hidden = edit(client, docs, title="Mine")
    missing = client.post(f"/w/handbook/sources/{board.pk}/edit", {"title": "Mine"})

    assert (hidden.status_code, hidden.content) == (404, missing.content)
