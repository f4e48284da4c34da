"""One row of each kind in the admin, with text that would do harm if it were not escaped."""

import uuid
from datetime import timedelta

from django.utils import timezone

from ingest.models import Job, JobState, Unreadable
from kebab.identity.models import AuditEvent, Group, GroupMember, Invitation, Membership, Role, TokenGroup
from kebab.identity.tokens import mint_token
from search.models import EmbeddingSpace, Source, SourceReader, SourceVersion
from tests.pages.search.shelf import Passage, shelve
from tests.support.actors import make_person

#: Ends attributes and elements, and would be an expression of Alpine's and a template of Django's.
HOSTILE = (
    """'"><script>document.title='pwned'</script><img src=x onerror="document.title='pwned'">{{ 7*7 }}"""
)


class AdminRows:
    """The rows of a filled workspace."""

    def __init__(self, workspace):
        self.workspace = workspace
        workspace.name = HOSTILE
        workspace.settings = {"default_k": HOSTILE}
        workspace.save()
        self.person = make_person("ada@example.org")
        self.person.display_name = HOSTILE
        self.person.save()
        self.membership = Membership.objects.create(workspace=workspace, user=self.person, role=Role.OWNER)
        self.group = Group.objects.create(workspace=workspace, name=HOSTILE[:100])
        GroupMember.objects.create(workspace=workspace, group=self.group, membership=self.membership)
        self.token, self.secret = mint_token(workspace, scopes=["search"], name=HOSTILE)
        TokenGroup.objects.create(workspace=workspace, group=self.group, token=self.token)
        self.invitation = Invitation.objects.create(
            workspace=workspace,
            email="eve@example.org",
            secret_sha256=bytes(range(32)),
            invited_by=HOSTILE[:100],
            expires_at=timezone.now() + timedelta(days=1),
        )
        self._fill_corpus()
        self._fill_work()
        self.event = AuditEvent.objects.create(
            workspace=workspace, actor=HOSTILE, action="x.y", subject=HOSTILE, detail={HOSTILE: HOSTILE}
        )
        self.event_of_gone = AuditEvent.objects.create(workspace_id=uuid.uuid4(), actor="a", action="x.z")

    def _fill_corpus(self):
        passages = [Passage(text=HOSTILE, heading_path=(HOSTILE,), breadcrumb=HOSTILE, language=HOSTILE[:40])]
        self.document = shelve(
            self.workspace,
            "hostile/" + HOSTILE,
            HOSTILE,
            title=HOSTILE,
            tags=(HOSTILE[:100],),
            passages=passages,
            metadata={HOSTILE: HOSTILE},
        )
        self.source = Source.objects.create(
            workspace=self.workspace,
            key="docs",
            kind="git",
            title=HOSTILE,
            description=HOSTILE,
            config={"url": HOSTILE},
            sealed_credentials="sealed-canary",
            rules=[HOSTILE],
            project={"title": HOSTILE},
            is_restricted=True,
        )
        SourceReader.objects.create(workspace=self.workspace, source=self.source, group=self.group)
        self.version = SourceVersion.objects.create(
            workspace=self.workspace, source=self.source, tag=HOSTILE, title=HOSTILE
        )
        self.space = EmbeddingSpace.objects.create(
            workspace=self.workspace, model=HOSTILE[:100], revision="1", dim=4, state="live"
        )

    def _fill_work(self):
        self.job = Job.objects.create(
            workspace=self.workspace,
            kind="sync_source",
            source=self.source,
            state=JobState.RUNNING,
            items_total=40,
            items_done=10,
            current_path=HOSTILE,
            requested_by=HOSTILE[:200],
        )
        self.failed = Job.objects.create(
            workspace=self.workspace,
            kind="sync_source",
            source=self.source,
            state=JobState.FAILED,
            error=HOSTILE,
            finished_at=timezone.now(),
            payload={"only_paths": [HOSTILE]},
            counts={
                "new": 3,
                "skipped": {HOSTILE: 2},
                "failed": {"no_parser": 1},
                "examples": {HOSTILE: [HOSTILE], "no_parser": ["a.bin"]},
            },
        )
        self.quarantined = Unreadable.objects.create(
            workspace=self.workspace,
            version=self.version,
            path=HOSTILE,
            size_bytes=7,
            content_hash="0" * 64,
            parser_version="test/1",
            is_quarantined=True,
            reason="quarantined",
            detail=HOSTILE,
        )

    def rows(self):
        """Return one row for each page, by the model's name."""
        return {
            "people/user": self.person,
            "people/workspace": self.workspace,
            "people/membership": self.membership,
            "people/group": self.group,
            "people/invitation": self.invitation,
            "people/apitoken": self.token,
            "people/auditevent": self.event,
            "search/source": self.source,
            "search/sourceversion": self.version,
            "search/document": self.document,
            "search/embeddingspace": self.space,
            "ingest/job": self.failed,
            "ingest/unreadable": self.quarantined,
        }

    def pages(self, *, searched=True):
        """Return the addresses of all read-only pages, with a search for each list if `searched`."""
        yield from ("/admin/", "/admin/people/user/add/", f"/admin/people/user/{self.person.pk}/password/")
        for name, row in self.rows().items():
            yield from (f"/admin/{name}/", f"/admin/{name}/{row.pk}/change/")
            if searched:
                yield f"/admin/{name}/?q=a"
        yield f"/admin/ingest/job/{self.job.pk}/change/"
        yield f"/admin/people/auditevent/{self.event_of_gone.pk}/change/"
