"""Two tenants with a row in every tenant table."""

from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from django.db.models import Model
from django.utils import timezone

from ingest.models import Job, JobItem, JobKind, Unreadable, WebPage
from kebab.health.server_checks import tenant_models
from kebab.http.api.models import IdempotencyKey
from kebab.identity.caller import operator_access
from kebab.identity.models import (
    AuditEvent,
    Group,
    GroupMember,
    Invitation,
    Membership,
    Role,
    TokenGroup,
    TokenScope,
    User,
    Workspace,
)
from kebab.identity.tokens import mint_token
from kebab.webhooks.endpoints import send_test
from search.models import (
    AlertDocument,
    Bookmark,
    ChunkVector,
    EmbeddingSpace,
    Feedback,
    Judgement,
    QueryReview,
    Run,
    RunTopic,
    SavedSearch,
    Source,
    SourceReader,
    Topic,
)
from tests.integration.search.answers.factories import make_answer
from tests.pages.query_log.factories import make_query
from tests.support.corpus import make_place, make_workspace, write
from tests.support.webhooks import make_endpoint

MODELS = tenant_models()
#: Models whose rows a workspace can neither update nor delete.
RECORDS = {AuditEvent}


@dataclass(frozen=True, slots=True)
class Tenant:
    """A workspace, its owner and the secret of a token with all scopes."""

    workspace: Workspace
    owner: User
    secret: str = field(repr=False)

    @property
    def id(self) -> UUID:
        return self.workspace.pk


def column_of(model: type[Model]) -> str:
    """Return the name of the field with a row's workspace."""
    return "pk" if model is Workspace else "workspace_id"


def make_tenant(name: str) -> Tenant:
    """Create a workspace with rows in every table."""
    workspace = make_workspace(slug=name, name=name)
    owner = User.objects.create_user(f"owner@{name}.example")
    membership = Membership.objects.create(workspace=workspace, user=owner, role=Role.OWNER)
    group = Group.objects.create(workspace=workspace, name="readers")
    GroupMember.objects.create(workspace=workspace, group=group, membership=membership)
    token, secret = mint_token(workspace, scopes=TokenScope)
    TokenGroup.objects.create(workspace=workspace, group=group, token=token)
    Invitation.objects.create(
        workspace=workspace,
        email=f"guest@{name}.example",
        secret_sha256=name.encode(),
        invited_by=owner.email,
        expires_at=timezone.now() + timedelta(days=7),
    )
    AuditEvent.objects.create(workspace=workspace, actor=owner.email, action="made", subject=name)
    IdempotencyKey.objects.create(
        workspace=workspace,
        actor=f"token:{token.pk}",
        key=name,
        target="POST /",
        request_sha256=b"0",
        claimed_at=timezone.now(),
        created_at=timezone.now(),
    )
    _fill_corpus(workspace, name)
    source = make_place(workspace).source
    SourceReader.objects.create(workspace=workspace, source=source, group=group)
    _fill_evaluation(workspace, source, name)
    make_answer(source.documents.get(), question=f"xyzzy{name}")
    Bookmark.objects.create(workspace=workspace, document=source.documents.get(), creator=name)
    make_query(workspace, f"xyzzy{name}")
    QueryReview.objects.create(workspace=workspace, folded=f"xyzzy{name}", state="done", owner=name)
    endpoint = make_endpoint(workspace, "https://hooks.example.org/", "job.failed")
    send_test(operator_access(workspace, "operator:test"), endpoint.pk)
    saved = SavedSearch.objects.create(
        workspace=workspace, membership=membership, name=name, text=name, mode="hybrid"
    )
    AlertDocument.objects.create(
        workspace=workspace, saved_search=saved, document=source.documents.get(), passages=[f"xyzzy{name}"]
    )
    return Tenant(workspace=workspace, owner=owner, secret=secret)


def _fill_corpus(workspace: Workspace, name: str) -> None:
    place = make_place(workspace)
    write(workspace, "guide.md", f"the secret word of {name} is xyzzy{name}")
    document = place.source.documents.get()
    chunk = document.chunks.get()
    space = EmbeddingSpace.objects.create(workspace=workspace, model="test", revision="1", dim=2)
    ChunkVector.objects.create(
        workspace=workspace,
        space=space,
        chunk_id=chunk.chunk_id,
        version_id=document.version_id,
        embed_hash=chunk.chunk_id,
        embedding=[1.0, 0.0],
    )
    job = Job.objects.create(workspace=workspace, kind=JobKind.SYNC_SOURCE, source=place.source)
    JobItem.objects.create(workspace=workspace, job=job, path="guide.md", action="ingest")
    WebPage.objects.create(workspace=workspace, source=place.source, key="/", url="https://x/", path="i.html")
    Unreadable.objects.create(
        workspace=workspace,
        version=place.version,
        path="bad.bin",
        size_bytes=1,
        content_hash="00",
        parser_version="1",
        is_quarantined=True,
        reason="crashed",
    )


def _fill_evaluation(workspace: Workspace, source: Source, name: str) -> None:
    topic = Topic.objects.create(workspace=workspace, topic_id=name, text=f"xyzzy{name}")
    place = {"source": source, "path": "guide.md", "place_key": source.pk}
    Judgement.objects.create(workspace=workspace, topic=topic, grade=1, **place)
    run = Run.objects.create(workspace=workspace, topic_set="golden")
    RunTopic.objects.create(workspace=workspace, run=run, ordinal=0, topic_id=name, text=f"xyzzy{name}")
    feedback = {"query": f"xyzzy{name}", "query_key": source.pk, "actor": name, "creator": name}
    Feedback.objects.create(workspace=workspace, is_relevant=True, **feedback, **place)
