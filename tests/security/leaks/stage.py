"""Two workspaces with hidden objects, the fixture of the leak matrix, committed once for many tests."""

import hashlib
import os
import uuid
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.utils import timezone

from ingest.api.adapters.openai_stores import name_batch
from ingest.models import Job, JobItem, JobState
from kebab.http.api.models import IdempotencyKey
from kebab.identity.models import (
    ApiToken,
    AuditEvent,
    Group,
    GroupMember,
    Invitation,
    Membership,
    Role,
    TokenGroup,
    User,
    Workspace,
)
from kebab.identity.tokens import mint_token
from kebab.people.workspaces import store_settings
from kebab.webhooks.models import Delivery, Endpoint, EventType
from search.corpus import DocumentLocation, ensure_version, replace_document
from search.corpus.blobs import store_blob
from search.libraries.source_stats import refresh_source_stats
from search.models import (
    Bookmark,
    Chunk,
    Document,
    EmbeddingSpace,
    Feedback,
    Judgement,
    Run,
    RunTopic,
    SavedSearch,
    Source,
    Topic,
)
from search.settings.rules import validate_rules
from tests.integration.search.answers.factories import make_answer
from tests.pages.query_log.factories import make_query
from tests.security.leaks.canaries import CLOSED, THEIRS, Target
from tests.support.api import embed, quarantine
from tests.support.corpus import chunk, draft, restrict
from tests.support.samples import content_of

_OPEN = (
    ("guides/install.md", "Install", "Run the installer, then restart the workers one by one."),
    ("guides/backup.md", "Backup", "A nightly backup goes to the second disk."),
    ("guides/moorings.md", "Moorings", "Boats lie at their moorings while the harbour freezes."),
)


@dataclass(frozen=True, kw_only=True)
class Stage:
    """The objects that the matrix uses."""

    #: The callers' workspace, which has a restricted source.
    ours: Workspace
    #: Like `ours`, but the restricted source never existed.
    twin: Workspace
    theirs: Workspace
    group: Group
    hidden: Target
    closed: Target


def build_stage(number: int) -> Stage:
    """Create the stage; `number` distinguishes the stages of one database."""
    ours, twin = (_workspace(f"{name}-{number}", f"Our {name}") for name in ("harbour", "lagoon"))
    theirs = _workspace(f"{THEIRS}-{number}", f"{THEIRS}name")
    for workspace in (ours, twin):
        for path, title, text in _OPEN:
            _document(_source(workspace, "open"), path, title, text)
    group = _group(ours, CLOSED)
    closed_source = _hidden_source(ours, CLOSED)
    restrict(closed_source, group)
    theirs_group = _group(theirs, THEIRS)
    closed, hidden = (
        _ids(closed_source, CLOSED, group),
        _ids(_hidden_source(theirs, THEIRS), THEIRS, theirs_group),
    )
    for workspace in (ours, twin, theirs):
        embed(workspace)
        for source in Source.objects.in_workspace(workspace):
            refresh_source_stats(workspace.pk, source.pk, state="indexed", last_indexed_at=timezone.now())
    retired = EmbeddingSpace.objects.create(
        workspace=theirs,
        model=f"{THEIRS}model",
        revision="1",
        dim=2,
        state="retired",
        retire_at=timezone.now(),
    )
    # The rules are those of the workspace, whatever they are about.
    store_settings(twin, {"rules": _fresh(ours).settings["rules"]})
    hidden = replace(hidden, ids={**hidden.ids, "space": str(retired.pk)})
    closed = replace(closed, ids={**closed.ids, "space": "2147480000"})
    return Stage(
        ours=_fresh(ours), twin=_fresh(twin), theirs=_fresh(theirs), group=group, hidden=hidden, closed=closed
    )


def _workspace(slug: str, name: str) -> Workspace:
    return Workspace.objects.create(slug=slug, name=name)


def _fresh(workspace: Workspace) -> Workspace:
    return Workspace.objects.get(pk=workspace.pk)


def _source(workspace: Workspace, key: str, **fields: Any) -> Source:
    source, _ = Source.objects.get_or_create(
        workspace=workspace, key=key, kind="upload", defaults={"title": key, **fields}
    )
    return source


def _hidden_source(workspace: Workspace, stem: str) -> Source:
    return _source(
        workspace,
        f"{stem}-key",
        title=f"{stem}sourcetitle",
        description=f"About {stem}description.",
        default_tags=[f"{stem}defaulttag"],
        rules=[f"Heed the {stem}rule."],
    )


def _document(source: Source, path: str, title: str, text: str, version: str = "", **fields: Any) -> Document:
    content = fields.pop("content", text.encode())
    heading = fields.pop("heading", title)
    created = draft(
        chunk(text, heading=heading),
        title=title,
        size_bytes=len(content),
        content_hash=store_blob(source.workspace_id, content),
        lang="en",
        **fields,
    )
    place = DocumentLocation(
        workspace=source.workspace, source=source, version=ensure_version(source, version), path=path
    )
    replace_document(place, created)
    return Document.objects.in_workspace(source.workspace_id).get(doc_id=place.doc_id)


def _hidden_documents(source: Source, stem: str) -> dict[str, str]:
    fields = {
        "tags": (f"{stem}tag",),
        "metadata": {"note": f"{stem}metadata", "author": f"{stem}author"},
        "heading": f"{stem}heading",
    }
    text = f"The {stem}text stands here, beside a {stem}word and the workers."
    path = f"{stem}folder/{stem}file.md"
    document = _document(source, path, f"{stem}title", text, **fields)
    _document(source, path, f"{stem}title", text, version=f"{stem}-v1", **fields)
    printed = content_of("pdf/printed.pdf")
    pdf = _document(
        source,
        f"{stem}printed.pdf",
        f"{stem}pdf",
        "page",
        content=printed,
        media="pdf",
        mime="application/pdf",
    )
    notice = content_of("image/notice.png")
    picture = _document(
        source, f"{stem}notice.png", f"{stem}png", "notice", content=notice, media="image", mime="image/png"
    )
    first = Chunk.objects.in_workspace(source.workspace_id).filter(document=document).first()
    for creator in ("user:0", "user:1"):  # as many as make it popular
        Bookmark.objects.create(workspace=source.workspace, document=document, creator=creator)
    return {
        "doc": document.doc_id.hex,
        "batch": name_batch([document.doc_id]),
        "chunk": first.chunk_id.hex,
        "pdf": pdf.doc_id.hex,
        "picture": picture.doc_id.hex,
    }


def _hidden_jobs(source: Source, stem: str) -> dict[str, str]:
    now = timezone.now()
    job = Job.objects.create(
        workspace=source.workspace,
        kind="ingest_document",
        source=source,
        payload={"path": f"{stem}jobpath.md"},
        state=JobState.FAILED,
        counts={"failed": {"not_text": 1}},
        items_total=1,
        current_path=f"{stem}currentpath.md",
        error=f"The file {stem}error.md can't be read.",
        requested_by=f"{stem}requester@example.org",
        started_at=now,
        finished_at=now,
    )
    JobItem.objects.create(
        workspace=source.workspace,
        job=job,
        path=f"{stem}itempath.md",
        action="ingest",
        state="failed",
        outcome="failed",
        reason="not_text",
        detail=f"{stem}itemdetail",
    )
    running = Job.objects.create(
        workspace=source.workspace,
        kind="sync_source",
        source=source,
        state=JobState.RUNNING,
        current_path=f"{stem}runningpath.md",
        started_at=now,
        lease_until=now + timedelta(days=1),
    )
    entry = quarantine(source.workspace, source.versions.first(), f"{stem}bomb.md")
    type(entry).objects.filter(pk=entry.pk).update(detail=f"{stem}reason")
    return {"job": str(job.pk), "running": str(running.pk), "entry": str(entry.pk)}


def _hidden_evaluation(source: Source, stem: str) -> dict[str, str]:
    """Create a topic, two runs of it, feedback on its hit, and the job of a run."""
    own = {"workspace": source.workspace, "created_by": f"{stem}requester@example.org", "creator": "user:0"}
    place = {"path": f"{stem}folder/{stem}file.md", "source": source, "place_key": source.pk}
    query = f"What of the {stem}query?"
    named = {"topic_id": f"{stem}topic", "text": query}
    topic = Topic.objects.create(topic_set=f"{stem}-set", **named, **own)
    Judgement.objects.create(workspace=source.workspace, topic=topic, grade=1, **place)
    runs = [
        Run.objects.create(
            name=f"{stem}run{number}",
            topic_set=topic.topic_set,
            state="succeeded",
            settings={"mode": "lexical", "k": 10},
            measures=["nDCG@10"],
            figures={"measures": {"nDCG@10": 1.0}, "index_version": f"{stem}index"},
            sources=[source.key],
            finished_at=timezone.now(),
            **own,
        )
        for number in range(2)
    ]
    for run in runs:
        RunTopic.objects.create(
            workspace=source.workspace,
            run=run,
            ordinal=0,
            **named,
            judgements=[[source.key, "", place["path"], "", 1]],
            ranking=[[source.key, "", place["path"], "L1-L2", 0.5]],
            measures={"nDCG@10": 1.0},
            ms=1.0,
            is_empty=False,
            is_refused=False,
        )
    Feedback.objects.create(
        workspace=source.workspace,
        query=query,
        query_key=source.pk,
        actor=f"{stem}member@example.org",
        creator="user:0",
        is_relevant=True,
        **place,
    )
    job = Job.objects.create(
        workspace=source.workspace,
        kind="evaluate",
        payload={"run": str(runs[0].pk)},
        state=JobState.FAILED,
        current_path=topic.topic_id,
        error=f"The {stem}error.",
        requested_by=own["created_by"],
        finished_at=timezone.now(),
    )
    ids = {"topic": topic, "run": runs[0], "baseline": runs[1], "evaluation": job}
    names = {"set": topic.topic_set, "topicname": topic.topic_id, "path": place["path"]}
    return {**{name: str(row.pk) for name, row in ids.items()}, **names}


def _hidden_answer(source: Source, stem: str) -> dict[str, str]:
    """Create an answer from the hidden document."""
    document = source.documents.filter(version__tag="").order_by("pk").select_related("source")[0]
    answer = make_answer(
        document,
        heading=f"{stem}heading",
        quote=f"the {stem}quote",
        asked_by=f"{stem}asker@example.org",
        question=f"What of the {stem}question?",
        text=f"So the {stem}answer says [#1].",
        index_version=f"{stem}index",
    )
    return {"answer": str(answer.pk), "conversation": str(answer.conversation_id)}


def _group(workspace: Workspace, stem: str) -> Group:
    return Group.objects.create(workspace=workspace, name=f"{stem}group")


def _hidden_people(workspace: Workspace, stem: str, group: Group) -> dict[str, str]:
    # Small ids occur in any page, as other numbers.
    user_id = 1_000_000_000 + uuid.uuid4().int % 1_000_000_000
    user = User.objects.create_user(f"{stem}member-{workspace.slug}@example.org", pk=user_id)
    User.objects.filter(pk=user.pk).update(display_name=f"{stem}displayname")
    membership = Membership.objects.create(workspace=workspace, user=user, role=Role.VIEWER)
    GroupMember.objects.create(workspace=workspace, group=group, membership=membership)
    token, _ = mint_token(workspace, scopes=["search"], name=f"{stem}token")
    TokenGroup.objects.create(workspace=workspace, group=group, token=token)
    invitation = Invitation.objects.create(
        workspace=workspace,
        email=f"{stem}invited@example.org",
        secret_sha256=hashlib.sha256(os.urandom(8)).digest(),
        invited_by=user.email,
        expires_at=timezone.now() + timedelta(days=1),
    )
    AuditEvent.objects.create(
        workspace=workspace, actor=user.email, action="source.created", subject=f"{stem}audited"
    )
    IdempotencyKey.objects.create(
        workspace=workspace,
        actor=f"user:{user.pk}",
        key="once",
        target="POST /",
        request_sha256=b"0",
        status=201,
        body={"title": f"{stem}keptanswer"},
        claimed_at=timezone.now(),
        created_at=timezone.now(),
    )
    people = {"user": user, "token": token, "invitation": invitation}
    named = {name: str(row.pk) for name, row in people.items()}
    return {**named, **_hidden_notifications(membership, stem)}


def _hidden_notifications(membership: Membership, stem: str) -> dict[str, str]:
    """Create a webhook with an event on its way, and a saved search."""
    workspace = membership.workspace
    endpoint = Endpoint.objects.create(
        workspace=workspace,
        url=f"https://{stem}hook.example.org/",
        description=f"{stem}hookname",
        events=list(EventType),
        sealed_secret=f"{stem}hooksecret",
    )
    Delivery.objects.create(
        workspace=workspace,
        endpoint=endpoint,
        event_id=uuid.uuid4(),
        type=EventType.DOCUMENT_INDEXED,
        subject=f"{stem}subject",
        body=f'{{"data": "{stem}eventdata"}}',
        created_at=timezone.now(),
        due_at=timezone.now(),
    )
    saved = SavedSearch.objects.create(
        workspace=workspace,
        membership=membership,
        name=f"{stem}savedname",
        text=f"{stem}savedquery",
        mode="lexical",
    )
    return {"webhook": str(endpoint.pk), "savedsearch": str(saved.pk)}


def _hidden_rules(source: Source, stem: str, doc_id: str) -> dict[str, str]:
    """Write rules about the source; return the id of the one that pins its document."""
    rules = [
        {"kind": "boost", "field": "source", "value": source.key, "factor": 2},
        {"kind": "pin", "queries": [f"{stem}pinned"], "documents": [doc_id], "note": f"{stem}pinning"},
    ]
    setting = validate_rules(rules)
    store_settings(source.workspace, {"rules": setting})
    return {"rule": setting["entries"][1]["id"]}


def _ids(source: Source, stem: str, group: Group) -> Target:
    created = {
        **_hidden_documents(source, stem),
        **_hidden_jobs(source, stem),
        **_hidden_evaluation(source, stem),
        **_hidden_answer(source, stem),
        **_hidden_people(source.workspace, stem, group),
    }
    make_query(source.workspace, f"What of the {stem}asked?", hits=0)
    created |= _hidden_rules(source, stem, created["doc"])
    source.refresh_from_db()
    named = {
        "source": str(source.pk),
        "sourcekey": source.key,
        "library": source.library_id,
        "tag": f"{stem}-v1",
        "group": str(group.pk),
        "stem": stem,
        "word": f"{stem}text",
    }
    return Target(stem=stem, ids={**created, **named})


def join_group(group: Group, *, member: Membership | None = None, token: ApiToken | None = None) -> None:
    """Let a member or a token read the group's sources."""
    if member is not None:
        GroupMember.objects.create(workspace_id=group.workspace_id, group=group, membership=member)
    if token is not None:
        TokenGroup.objects.create(workspace_id=group.workspace_id, group=group, token=token)
