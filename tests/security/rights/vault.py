"""Creates a workspace with a source that one group may read, and people inside and outside the group."""

from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from kebab.identity.models import ApiToken, Group, GroupMember, Membership, Role, TokenGroup, User, Workspace
from kebab.identity.reader import Reader
from kebab.identity.tokens import mint_token
from search.corpus import replace_document
from search.corpus.blobs import store_blob
from search.libraries.source_stats import refresh_source_stats
from search.models import Chunk, Document, Source
from tests.support.actors import bearer_client, make_member, person_client
from tests.support.corpus import chunk, draft, make_place, make_workspace, restrict
from tests.support.search import embed, sync

#: Words that occur in the restricted source alone, by the name of their place.
CANARIES = {
    "text": "quokkatext",
    "heading": "wombatheading",
    "title": "numbattitle",
    "path": "bilbypath",
    "tag": "potorootag",
    "metadata": "dibblermeta",
    "name": "tammar.wallaby_name",
    "key": "quollkey",
    "description": "bettongdescription",
}
_OPEN = [
    "Push the image, then restart the workers one by one.",
    "A nightly backup goes to the second disk and is read back.",
    "The def restart_workers(image) function restarts each worker.",
    "Rates are limited by token; a limit is told in the answer.",
    "Roll back with the tag of the release before, one by one.",
]
_CLOSED = (
    f"Restart the image of {CANARIES['text']} workers; def tammar.wallaby_name(image) reads it one by one."
)


@dataclass(frozen=True, kw_only=True)
class Vault:
    """A workspace whose source `hidden` can be read by `group` alone."""

    workspace: Workspace
    #: The same documents with the same ids, but the restricted source never existed.
    twin: Workspace
    group: Group
    hidden: Source
    #: In the restricted source.
    document: Document
    chunk: Chunk

    @property
    def inside(self) -> Reader:
        """Return a reader in the group."""
        return Reader(groups=frozenset({self.group.pk}))

    @property
    def outside(self) -> Reader:
        """Return a reader in another group."""
        other, _ = Group.objects.get_or_create(workspace=self.workspace, name="others")
        return Reader(groups=frozenset({other.pk}))

    def member(self, role: Role = Role.VIEWER, *, is_inside: bool = False) -> User:
        """Create a person, in the group or outside it."""
        user = make_member(self.workspace, role)
        if is_inside:
            membership = Membership.objects.get(workspace=self.workspace, user=user)
            GroupMember.objects.create(workspace=self.workspace, group=self.group, membership=membership)
        return user

    def client(self, role: Role = Role.VIEWER, *, is_inside: bool = False) -> Any:
        """Create a client for such a person."""
        return person_client(self.member(role, is_inside=is_inside))

    def token(self, *, is_inside: bool) -> Any:
        """Create a client with a token with all scopes."""
        token, secret = mint_token(self.workspace, scopes=("search", "ask", "ingest", "manage"))
        if is_inside:
            TokenGroup.objects.create(
                workspace=self.workspace, group=self.group, token=ApiToken.objects.get(pk=token.pk)
            )
        return bearer_client(secret)


def make_vault(workspace: Workspace) -> Vault:
    """Fill the workspace, with vectors and mirror, and create its twin."""
    twin = make_workspace(corpus_id=workspace.corpus_id)
    for each in (workspace, twin):
        for number, text in enumerate(_OPEN):
            add(each, "docs", f"guides/{number}.md", chunk(text, heading=f"Chapter {number}"))
    add(
        workspace,
        CANARIES["key"],
        f"{CANARIES['path']}/secret.md",
        chunk(_CLOSED, heading=CANARIES["heading"]),
        title=CANARIES["title"],
        tags=(CANARIES["tag"],),
        metadata={"note": CANARIES["metadata"]},
    )
    hidden = Source.objects.in_workspace(workspace).get(key=CANARIES["key"])
    hidden.title, hidden.description = "Vault", CANARIES["description"]
    hidden.rules = [f"Mind the {CANARIES['text']}."]
    hidden.save()
    group = Group.objects.create(workspace=workspace, name="keepers")
    restrict(hidden, group)
    for each in (workspace, twin):
        index(each)
    document = Document.objects.in_workspace(workspace).get(source=hidden)
    only = Chunk.objects.in_workspace(workspace).get(document=document)
    return Vault(workspace=workspace, twin=twin, group=group, hidden=hidden, document=document, chunk=only)


def add(workspace: Workspace, source: str, path: str, *chunks: Any, **fields: Any) -> None:
    """Write a document with its blob."""
    content = "\n\n".join(each.text for each in chunks).encode()
    hash_ = store_blob(workspace.pk, content)
    document = draft(*chunks, content_hash=hash_, size_bytes=len(content), **fields)
    replace_document(make_place(workspace, path, source=source), document)


def index(workspace: Workspace) -> None:
    """Embed all chunks, sync the mirror, and update the statistics of sources."""
    embed(workspace)
    sync(workspace)
    for source in Source.objects.in_workspace(workspace):
        refresh_source_stats(workspace.pk, source.pk, state="indexed", last_indexed_at=timezone.now())
