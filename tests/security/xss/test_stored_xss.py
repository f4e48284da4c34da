"""Stored hostile text runs nowhere: every page and every admin page, in real Chromium."""

from urllib.parse import quote

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.utils import timezone

from ingest.models import Job, JobItem, JobState, WebPage
from kebab.identity.caller import operator_access
from kebab.identity.models import AuditEvent, Group, GroupMember, Membership, Role, User, Workspace
from kebab.identity.tokens import mint_token
from kebab.webhooks.endpoints import send_test
from search.mirror import local_mirrors
from search.models import Feedback, Judgement, Run, RunTopic, SavedSearch, Source, Topic
from search.settings.rules import validate_rules
from tests.integration.search.answers.factories import make_answer
from tests.pages.every_page.sample_rows import fill_topics
from tests.pages.query_log.factories import make_query
from tests.pages.search.shelf import Passage, index, shelve
from tests.security.leaks.routes import routes
from tests.security.leaks.stage import build_stage
from tests.security.xss.addresses import NO_PAGES, ROUTES_OF_PAGES, pages
from tests.security.xss.hostile import ADDRESS, MARK, hostile, poison
from tests.support.api import quarantine
from tests.support.browser import needs_browser
from tests.support.samples import content_of
from tests.support.webhooks import make_endpoint

pytestmark = [*needs_browser, pytest.mark.django_db(transaction=True)]

_ADMIN = [route for route in routes() if route.pattern.startswith("admin/")]
# It ends the session that the other pages need.
_LEFT_OUT = {"admin:logout", "admin/logout/", "admin:jsi18n"}
_MUST_BE_HOSTILE = {
    *("ingest.Job.counts", "ingest.Job.current_path", "ingest.Job.error", "ingest.Job.requested_by"),
    *("ingest.JobItem.detail", "ingest.JobItem.path", "ingest.JobItem.reason"),
    *("ingest.Unreadable.detail", "ingest.Unreadable.path", "ingest.Unreadable.reason"),
    *("people.ApiToken.name", "people.Group.name", "people.Invitation.email", "people.Invitation.invited_by"),
    *("people.User.display_name", "people.User.email", "people.Workspace.name"),
    *("search.AskedQuery.text", "search.Feedback.path", "search.Feedback.query", "search.Judgement.path"),
    *("search.Run.error", "search.Run.name", "search.Run.settings", "search.Run.topic_set"),
    *("search.RunTopic.judgements", "search.RunTopic.ranking", "search.RunTopic.text"),
    *("search.Topic.text", "search.Topic.topic_id", "search.Topic.topic_set"),
    *("search.Chunk.breadcrumb", "search.Chunk.heading_path", "search.Chunk.section_label"),
    *("search.Chunk.language", "search.Chunk.text", "search.Chunk.source_spans"),
    *("search.Document.metadata", "search.Document.path", "search.Document.tags", "search.Document.title"),
    *("search.Source.config", "search.Source.default_tags", "search.Source.description", "search.Source.key"),
    *("search.Source.project", "search.Source.rules", "search.Source.title"),
    *("search.SourceVersion.tag", "search.SourceVersion.title"),
    *("search.SavedSearch.filters", "search.SavedSearch.name", "search.SavedSearch.text"),
    *("webhooks.Delivery.body", "webhooks.Delivery.error", "webhooks.Endpoint.description"),
    *("webhooks.Endpoint.disabled_because", "webhooks.Endpoint.url"),
}
_MEDIA = {
    "code": ("a.py", "code", "text/x-python"),
    "email": ("a.eml", "email", "message/rfc822"),
    "markdown": ("a.md", "text", "text/markdown"),
    "office": ("a.docx", "office", "application/octet-stream"),
    "transcript": ("a.srt", "transcript", "application/x-subrip"),
}


@pytest.fixture
def stage(transactional_db, mirrors):
    """Create the leak matrix' workspaces with objects of every kind."""
    stage = build_stage(1)
    for workspace in (stage.ours, stage.theirs):
        local_mirrors.wait_for_seq(workspace.pk, workspace.head_seq, limit_s=30)
    return stage


@pytest.fixture
def shelf(stage):
    """Create hostile documents of all media types, which searches for `restart` find."""
    workspace = Workspace.objects.create(slug="shelf", name="Shelf")
    text = f"{hostile()}\n\nrestart {hostile()}\n\n1\n00:00:01,000 --> 00:00:02,000\n{hostile()}"
    documents = [
        shelve(
            workspace,
            f"{hostile(100)}/{path}".replace("#", ""),
            text,
            title=f"{name} {hostile(400)}",
            media=media,
            mime=mime,
            tags=(hostile(100),),
        )
        for name, (path, media, mime) in _MEDIA.items()
    ]
    printed = content_of("pdf/printed.pdf").decode("latin-1")
    fields = {
        "charset": "latin-1",
        "media": "pdf",
        "mime": "application/pdf",
        "metadata": {"pages": 3},
        "passages": [Passage(text=f"restart {hostile()}", spans=[{"kind": "page", "page": 2}])],
    }
    documents.append(shelve(workspace, "printed.pdf", printed, title=hostile(500), **fields))
    index(workspace)
    return workspace, documents


@pytest.fixture
def poisoned_data(stage, shelf):
    """Poison all rows; return the operator, a member of every workspace with a history in the admin."""
    workspace, documents = shelf
    operator = User.objects.create_superuser("root@example.org")
    for each in (stage.ours, stage.theirs, workspace):
        Membership.objects.create(workspace=each, user=operator, role=Role.OWNER)
    mint_token(workspace, scopes=["search"], name=hostile(200), created_by=operator)
    _put_into_a_group(workspace, operator)
    _notify(workspace, operator)
    source = Source.objects.in_workspace(workspace).get()
    _leave_traces(workspace, source)
    fill_topics(source, documents[0].path)
    make_query(workspace, "restart", hits=0)
    answer = _hostile_answer(documents[0], operator)
    assert poison() >= _MUST_BE_HOSTILE
    answer.save()  # some of its fields have values of an enumeration
    for each in (stage.ours, stage.theirs, workspace):
        _set_rules(each, documents[0])
    _count_again(workspace)
    _judge_again(workspace)
    _measure_again(workspace)
    return User.objects.get(pk=operator.pk), workspace, documents


def _hostile_answer(document, asker):
    texts = dict.fromkeys(("heading", "quote", "question"), hostile())
    text = f"{hostile()} [#1]"
    return make_answer(document, text=text, creator=f"user:{asker.pk}", asked_by=hostile(320), **texts)


def _set_rules(workspace, document):
    """Store rules with hostile texts in a valid shape."""
    texts = {"note": hostile(500), "queries": ["restart", hostile(200)], "created_by": hostile(320)}
    rules = [
        {"kind": "synonyms", "words": ["restart", hostile(200)], "note": hostile(500)},
        {"kind": "pin", "documents": [document.doc_id.hex], **texts},
        {"kind": "answer", "title": hostile(200), "text": hostile(2_000), **texts},
    ]
    settings = Workspace.objects.get(pk=workspace.pk).settings | {"rules": validate_rules(rules)}
    Workspace.objects.filter(pk=workspace.pk).update(settings=settings)


def _count_again(workspace):
    """Restore the numbers of a report, where only paths come from users."""
    counts = {"new": 1, "updated": 0, "unchanged": 0, "deleted": 0, "skipped": {}, "failed": {"no_parser": 1}}
    counts["examples"] = {"no_parser": [hostile(1_000)]}
    Job.objects.in_workspace(workspace).filter(kind="sync_source").update(counts=counts)


def _judge_again(workspace):
    """Restore values that are validated on input: places, filters and printable names."""
    for model in (Feedback, Judgement):
        model.objects.in_workspace(workspace).update(fragment="")
    Topic.objects.in_workspace(workspace).update(topic_id=hostile(50), filters={})


def _measure_again(workspace):
    """Restore the numbers of a run, under known names."""
    measures = {"nDCG@10": 0.5}
    figures = {"measures": measures, "p50_ms": 5.0, "p95_ms": 9.0}
    runs = Run.objects.in_workspace(workspace)
    runs.update(topic_set=runs.first().topic_set, measures=list(measures), figures=figures)
    for number, topic in enumerate(RunTopic.objects.in_workspace(workspace)):
        same = {
            "topic_id": hostile(50),
            "text": hostile(),
            "judgements": [[hostile(50), "", hostile(), "", 1]],
        }
        RunTopic.objects.filter(pk=topic.pk).update(measures={"nDCG@10": number / 2}, **same)


def _put_into_a_group(workspace, operator):
    group = Group.objects.create(workspace=workspace, name="a")
    membership = Membership.objects.get(workspace=workspace, user=operator)
    GroupMember.objects.create(workspace=workspace, group=group, membership=membership)


def _notify(workspace, operator):
    """Create a webhook with a delivery, and a saved search of the operator."""
    endpoint = make_endpoint(workspace, "https://hooks.example.org/", "job.failed")
    send_test(operator_access(workspace, "operator:test"), endpoint.pk)
    membership = Membership.objects.get(workspace=workspace, user=operator)
    SavedSearch.objects.create(workspace=workspace, membership=membership, name="a", text="a", mode="hybrid")


def _leave_traces(workspace, source):
    counts = {
        "new": 1,
        "skipped": {"ignored": 1},
        "failed": {"no_parser": 1},
        "examples": {"no_parser": ["a"]},
    }
    ended = {"state": JobState.FAILED, "error": "a", "counts": counts, "finished_at": timezone.now()}
    Job.objects.create(workspace=workspace, kind="sync_source", source=source, **ended)
    job = Job.objects.create(workspace=workspace, kind="sync_source", source=source, state=JobState.QUEUED)
    JobItem.objects.create(workspace=workspace, job=job, path="a", action="ingest")
    WebPage.objects.create(workspace=workspace, source=source, key="a", url=ADDRESS, path="a")
    quarantine(workspace, source.versions.first(), "a.md")
    AuditEvent.objects.create(
        workspace=workspace,
        actor=hostile(320),
        action=hostile(64),
        subject=hostile(500),
        detail={hostile(): hostile(), "groups": [hostile()], "values": {"name": [hostile(), hostile()]}},
    )


def test_unescaped_text_is_detected(open_watched_page, transactional_db):
    page = open_watched_page()
    page.page.route(
        "**/raw", lambda route: route.fulfill(body=f"<body>{hostile()}", content_type="text/html")
    )
    page.visit("/raw")

    assert [fault for fault in page.faults if "ran" in fault]
    assert [fault for fault in page.faults if "dormant" in fault]


def test_no_page_runs_stored_text(open_watched_page, poisoned_data):
    operator, workspace, documents = poisoned_data
    opened, page, visitor = (
        pages(operator, workspace, documents),
        open_watched_page(operator),
        open_watched_page(),
    )
    assert opened.keys() | NO_PAGES == {route.name for route in ROUTES_OF_PAGES}
    shown = [path for paths in opened.values() for path in paths if f"{MARK}=" in page.visit(path)]
    assert [path for path in page.rejected if path.startswith("/w/")] == []
    for name in ("login", "password-reset-link", "invitation-link", "invitation"):
        shown += [f"signed out: {path}" for path in opened[name] if f"{MARK}=" in visitor.visit(path)]

    assert [*page.faults, *visitor.faults] == []
    assert len(shown) >= len(documents) + 5
    assert {"/invitation", "signed out: /invitation"} <= set(shown)


def test_no_page_runs_text_of_its_address(open_watched_page, poisoned_data):
    operator, workspace, documents = poisoned_data
    text, page = quote(hostile()), open_watched_page(operator)
    document = f"/w/{workspace.slug}/documents/{documents[0].doc_id.hex}"
    for path in (
        *(
            f"/w/{workspace.slug}/search?q={text}&mode={mode}&k={k}"
            for mode in ("lexical", text)
            for k in ("10", text)
        ),
        f"{document}?q={text}&chunk={text}&start={text}&from={text}",
        f"/w/{text}/search",
        f"/{text}",
        f"/admin/people/user/?q={text}&{text}={text}",
        f"/api/v1/{text}",
        f"/api/docs/?url={quote(ADDRESS)}",
    ):
        page.visit(path)
    visitor = open_watched_page()
    for path in ("/login", "/admin/login/", "/password/reset", "/invitation"):
        visitor.visit(f"{path}?next={quote(ADDRESS)}&{text}={text}")

    assert [*page.faults, *visitor.faults] == []


def test_no_admin_page_runs_stored_text(open_watched_page, poisoned_data):
    operator, _, _ = poisoned_data
    LogEntry.objects.log_actions(operator.pk, User.objects.all()[:1], 2, hostile(), single_object=True)
    page, shown = open_watched_page(operator), 0
    for path in _admin_pages():
        shown += f"{MARK}=" in page.visit(path)

    assert page.faults == []
    assert shown >= 20


def _admin_pages():
    """Yield each address of the admin, with a row of its model where it needs one."""
    for route in _ADMIN:
        if route.name in _LEFT_OUT or "url" in route.arguments:
            continue
        if not {"object_id", "id"} & set(route.arguments):
            yield route.path({"app_label": "people"})
            continue
        for row in _rows(_model(route)):
            arguments = {"object_id": quote(str(row), safe=""), "id": str(row), "content_type_id": "1"}
            yield route.path(arguments)


def _model(route):
    try:
        return apps.get_model(*route.pattern.split("/")[1:3])
    except (LookupError, ValueError):
        return None


def _rows(model):
    if model is None or not model._default_manager.exists():
        return []
    return [model._default_manager.order_by("pk").values_list("pk", flat=True).last()]
