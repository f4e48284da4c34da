"""Pages that add and change sources."""

import json

import pytest
from cryptography.fernet import Fernet

from ingest.connectors.errors import ListingFailed
from ingest.connectors.git.repository import NamedCommits
from ingest.models import Job
from kebab.encryption import decrypt
from kebab.identity.models import AuditEvent, Group
from search.access.restrictions import annotate_readers, readers_of, restrict
from search.models import Source
from tests.pages.page_text import markup_of
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
    form = {"title": "Docs", "trust": "unknown", **fields}
    return client.post(f"/w/handbook/sources/{source.pk}/edit", form)


def the_source():
    return annotate_readers(Source.objects.all()).get()


def test_a_folder_is_added_and_read_at_once(visit, editor, root):
    form = {"path": str(root), "tags": "guide, , product", "schedule": "60", "watch": "on"}
    answer = add(visit(editor), "folder", **form, trust="primary", description="All of it")
    source = the_source()

    assert answer["Location"] == f"/w/handbook/activity/{Job.objects.get(source=source).pk}"
    assert (source.key, source.title, source.kind) == ("our-docs", "Our docs", "folder")
    assert (source.config, source.watch) == ({"path": str(root)}, True)
    assert (source.default_tags, source.default_trust) == (["guide", "product"], "primary")
    assert (source.sync_every_minutes, source.description) == (60, "All of it")
    assert Job.objects.get(source=source).requested_by == editor.email


def test_repository_and_site_are_added_with_their_options(visit, editor):
    form = {"url": "https://git.example.org/a/b.git", "branch": "main", "version_tags": "v*, r*"}
    add(visit(editor), "git", **form, username="bot", token="s3cret", key="code")
    source = the_source()

    assert source.key == "code"
    assert source.config == {"url": form["url"], "branch": "main", "tags": ["v*", "r*"]}
    assert source.sealed_credentials
    assert "s3cret" not in markup_of(visit(editor).get(f"/w/handbook/sources/{source.pk}"))
    form = {"url": "https://docs.example.org/guide/", "include": "guide/**", "max_pages": "50"}
    add(visit(editor), "web", **form, key="site")
    config = annotate_readers(Source.objects.filter(key="site")).get().config
    assert config | {"include": ["guide/**"], "max_pages": 50} == config


def test_connector_is_added_by_the_fields_that_its_kind_declares(visit, editor, settings):
    settings.KEBAB_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    form = {"url": "https://s3.example.org", "bucket": "docs", "prefix": "handbook"}
    add(visit(editor), "s3", **form, access_key_id="AKIA", secret_access_key=" s3cret ")
    source = the_source()
    assert source.config == {**form, "url": "https://s3.example.org/"}
    login = {"access_key_id": "AKIA", "secret_access_key": " s3cret "}
    assert json.loads(decrypt(source.sealed_credentials)) == login
    page = markup_of(visit(editor).get(f"/w/handbook/sources/{source.pk}/edit"))
    assert "s3cret" not in page
    edit(visit(editor), source, access_key_id="AKIB", secret_access_key="other")
    assert json.loads(decrypt(the_source().sealed_credentials))["access_key_id"] == "AKIB"
    edit(visit(editor), the_source(), is_forgetting="on")
    assert the_source().sealed_credentials == ""


def test_pull_requests_are_included_by_a_tick(visit, editor):
    url = "https://github.com/ada/boat"
    add(visit(editor), "github", url=url, pull_requests="on")
    assert the_source().config == {"url": url, "pull_requests": True}


def test_missing_credentials_are_shown_at_their_field(visit, editor, settings):
    settings.KEBAB_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    answer = add(visit(editor), "imap", url="imaps://mail.example.org", username="ada")
    assert answer.context["form"].errors.keys() == {"password"}
    answer = add(visit(editor), "s3", url="https://s3.example.org", bucket="docs", access_key_id="AKIA")
    assert "secret_access_key" in str(answer.context["form"].errors)
    assert not Source.objects.exists()


def test_programs_are_offered_where_the_operator_has_some(visit, editor, settings):
    assert "?kind=program" not in markup_of(visit(editor).get(NEW))
    settings.KEBAB_CONNECTORS = {"wiki": ["/usr/bin/wiki"]}
    assert "?kind=program" in markup_of(visit(editor).get(NEW))


def test_empty_title_of_a_source_is_derived_from_its_url(visit, editor, root):
    for kind, fields, title, key in (
        ("git", {"url": "https://git.example.org/owner/widgets.git"}, "widgets", "widgets"),
        (
            "web",
            {"url": "https://docs.example.org/guide/"},
            "docs.example.org/guide",
            "docs-example-org-guide",
        ),
        ("folder", {"path": str(root)}, "docs", "docs"),
        ("mediawiki", {"url": "https://a.example.org/w/api.php"}, "a.example.org w", "a-example-org-w"),
        ("github", {"url": "https://github.com/ada/boat"}, "github.com ada/boat", "github-com-ada-boat"),
    ):
        add(visit(editor), kind, title="", **fields)
        source = Source.objects.latest("created_at")
        assert (source.kind, source.title, source.key) == (kind, title, key)


def probe(client, kind, htmx=False, **fields):
    headers = {"HX-Request": "true"} if htmx else {}
    form = {"title": "", "trust": "unknown", "test": "1", **fields}
    return client.post(f"{NEW}?kind={kind}", form, headers=headers)


def test_connection_is_tested_without_adding_anything(visit, editor, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "ingest.connectors.git.kind.list_references",
        lambda source, _: seen.append(source.config) or NamedCommits(branches={"main": "0"}),
    )
    url = "https://git.example.org/a/b.git"
    page = markup_of(probe(visit(editor), "git", url=url, branch="main"))
    assert seen == [{"url": url, "branch": "main"}]
    assert 'id="connection" role="status" class="message"' in page
    assert f'value="{url}"' in page
    part = markup_of(probe(visit(editor), "git", htmx=True, url=url))
    assert part.startswith('<p id="connection"')
    assert not Source.objects.exists()
    assert not Job.objects.exists()


def test_failed_test_of_a_connection_names_the_reason(visit, editor, monkeypatch):
    def refuse(*_):
        raise ListingFailed("The repository's host can't be reached.")

    monkeypatch.setattr("ingest.connectors.git.kind.list_references", refuse)
    page = markup_of(
        probe(visit(editor), "git", url="https://git.example.org/a.git", token="s3cret"), status=422
    )
    assert 'id="id_url_error"' in page
    assert "can&#x27;t be reached" in page
    assert "s3cret" not in page
    for url in ("https://git.example.org/a.git", "http://10.0.0.1/a.git", "ftp://x", ""):
        part = markup_of(probe(visit(editor), "git", htmx=True, url=url))
        assert part.startswith('<p id="connection" role="status" class="message bad">')
    assert 'class="message bad"' in markup_of(probe(visit(editor), "web", htmx=True, url="http://127.0.0.1/"))


def test_folder_outside_the_allowed_ones_is_refused_at_its_field_keeping_input(visit, editor, root):
    assert str(root.parent.resolve()) in markup_of(visit(editor).get(f"{NEW}?kind=folder"))
    answer = add(visit(editor), "folder", path="/etc", tags="kept", description="<b>kept</b>")
    page = markup_of(answer, status=422)

    for shown in ('id="id_path_error"', 'value="kept"', "&lt;b&gt;kept&lt;/b&gt;"):
        assert shown in page
    assert not Source.objects.exists()


def test_errors_are_shown_at_their_fields(visit, editor, subtests):
    git, web = {"url": "https://git.example.org/a.git"}, {"url": "https://docs.example.org/"}
    for kind, fields, field in (
        ("git", {"url": "ftp://x", "token": "s3cret", "username": "bot"}, "url"),
        ("git", git | {"version_tags": "[" * 300}, "version_tags"),
        ("web", {"url": "not an address"}, "url"),
        ("web", web | {"include": "[" * 300}, "include"),
        ("web", web | {"max_pages": "99999999"}, "max_pages"),
        ("git", git | {"key": "No Key"}, "key"),
        ("git", git | {"username": "only"}, "token"),
    ):
        with subtests.test(kind=kind, field=field):
            answer = add(visit(editor), kind, **fields)
            page = answer.content.decode()

            assert answer.status_code in (400, 422)
            assert f'id="id_{field}_error"' in page
            assert "s3cret" not in page
            assert not Source.objects.exists()


def test_allowed_kinds_are_offered_and_another_or_a_taken_key_is_refused(visit, editor, docs, settings):
    page = markup_of(visit(editor).get(NEW))

    assert [kind in page for kind in ("?kind=folder", "?kind=git", "?kind=web")] == [False, True, True]
    assert visit(editor).get(f"{NEW}?kind=folder").status_code == 404
    settings.KEBAB_FOLDER_ROOTS = ["/srv"]
    assert "?kind=folder" in markup_of(visit(editor).get(NEW))
    assert visit(editor).get(f"{NEW}?kind=upload").status_code == 404
    assert visit(editor).post(NEW, {"title": "x"}).status_code == 404
    assert add(visit(editor), "git", url="https://git.example.org/a.git", key="docs").status_code == 409


def test_description_of_a_source_is_changed(visit, editor, docs):
    client = visit(editor)
    shown = markup_of(client.get(f"/w/handbook/sources/{docs.pk}/edit"))
    form = {"title": "Guides", "tags": '"Paris, France",  "say ""hi""", plain'}
    edit(client, docs, **form, trust="secondary", schedule="1440", token="s3cret")
    docs.refresh_from_db()

    assert 'value="Docs"' in shown
    assert (docs.title, docs.default_trust) == ("Guides", "secondary")
    assert docs.default_tags == ["Paris, France", 'say "hi"', "plain"]
    assert (docs.sync_every_minutes, docs.watch) == (1440, False)
    # Only repositories have a token.
    assert 'name="token"' not in shown
    assert docs.sealed_credentials == ""
    answer = edit(client, docs, tags="x" * 200_000)
    assert 'id="id_tags_error"' in markup_of(answer, status=400)


def test_unchanged_fields_are_not_written(visit, admin, docs, board):
    form = {"description": "One\nline and another", "default_tags": ["Paris, France", "b"], "title": ""}
    Source.objects.filter(pk=docs.pk).update(**form)
    client = visit(admin)
    shown = client.get(f"/w/handbook/sources/{docs.pk}/edit").context["form"]
    sent = {field.html_name: field.value() for field in shown if field.value()}
    edit(client, docs, **{**sent, "description": "One\r\nline and another", "trust": "primary"})
    docs.refresh_from_db()

    assert sent["tags"] == '"Paris, France", b'
    assert AuditEvent.objects.get(action="source.changed").detail["fields"] == ["default_trust"]
    assert (docs.default_tags, docs.title, docs.watch) == (["Paris, France", "b"], "", True)


@pytest.fixture
def code(workspace):
    return Source.objects.create(
        workspace=workspace,
        key="code",
        kind="git",
        title="Code",
        config={"url": "https://git.example.org/a.git"},
    )


def test_token_of_a_repository_is_replaced_kept_and_forgotten_and_never_shown(visit, editor, code):
    client = visit(editor)
    refused = edit(client, code, title="Code", username="bot")
    assert 'id="id_token_error"' in markup_of(refused, status=400)
    edit(client, code, title="Code", token="s3cret", username="bot")
    code.refresh_from_db()
    stored = code.sealed_credentials
    assert stored
    assert "s3cret" not in markup_of(client.get(f"/w/handbook/sources/{code.pk}/edit"))
    edit(client, code, title="Ours")
    code.refresh_from_db()
    assert (code.title, code.sealed_credentials) == ("Ours", stored)
    edit(client, code, title="Ours", is_forgetting="on")
    code.refresh_from_db()

    assert code.sealed_credentials == ""


def test_readers_beyond_the_groups_that_are_offered_stay(visit, admin, workspace, docs, monkeypatch):
    monkeypatch.setattr("ingest.pages.sources.edit._SHOWN_GROUPS", 1)
    first, last = (Group.objects.create(workspace=workspace, name=name) for name in ("Aft", "Watch"))
    restrict(docs, [last.pk])
    client = visit(admin)
    assert str(last.pk) in markup_of(client.get(f"/w/handbook/sources/{docs.pk}/edit"))
    edit(client, docs, is_restricted="on", readers=[str(first.pk), str(last.pk)])

    assert set(readers_of(the_source())) == {first.pk, last.pk}


def test_edit_form_keeps_unusual_and_paused_schedules(visit, editor, docs):
    Source.objects.filter(pk=docs.pk).update(sync_every_minutes=47)
    page = markup_of(visit(editor).get(f"/w/handbook/sources/{docs.pk}/edit"))
    assert '<option value="47" selected>' in page

    Source.objects.filter(pk=docs.pk).update(sync_every_minutes=60, sync_failures=8)
    edit(visit(editor), docs, title="Guides", schedule="60")
    docs.refresh_from_db()
    assert (docs.title, docs.sync_failures, docs.next_sync_at) == ("Guides", 8, None)


def test_admins_alone_say_which_groups_read_a_source(visit, admin, editor, docs, board, root):
    restricted = {"is_restricted": "on", "readers": [str(board.pk)]}
    assert "is_restricted" not in markup_of(visit(editor).get(f"/w/handbook/sources/{docs.pk}/edit"))
    edit(visit(editor), docs, title="Ours", **restricted)
    assert the_source().title == "Ours"
    assert readers_of(the_source()) is None
    client = visit(admin)
    edit(client, docs, **restricted)
    assert readers_of(the_source()) == [board.pk]
    assert "checked" in markup_of(client.get(f"/w/handbook/sources/{docs.pk}/edit"))
    edit(client, docs)

    assert readers_of(the_source()) is None
    docs.delete()
    add(client, "folder", path=str(root), **restricted)  # from its first moment
    assert readers_of(the_source()) == [board.pk]


def test_a_hidden_source_is_edited_like_a_missing_one(visit, editor, docs, board):
    restrict(docs, [board.pk])
    client = visit(editor)
    hidden = edit(client, docs, title="Mine")
    missing = client.post(f"/w/handbook/sources/{board.pk}/edit", {"title": "Mine"})

    assert (hidden.status_code, hidden.content) == (404, missing.content)
