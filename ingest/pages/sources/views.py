"""Pages of sources, and the actions on a source."""

import uuid
from dataclasses import dataclass
from typing import Any, Final

from django.contrib import messages
from django.db.models import Count, F, Func, OuterRef, Q, Subquery, TextField, Value
from django.db.models.functions import Coalesce, Substr
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ingest.api.querysets import get_source, list_unreadable, readable_sources
from ingest.api.sources.configs import CHANGE_SOURCES, READ_SOURCES
from ingest.errors import ConnectionFailed
from ingest.models import Unreadable
from ingest.pages.activity.acts import Act, build_acts, list_acts
from ingest.services.connection_probe import probe_source
from ingest.services.sources import delete_source, delete_version, sync_source
from ingest.services.uploads import delete_document
from kebab.database.querysets import NaturalKey
from kebab.identity.caller import Access
from kebab.identity.models import Group, Workspace
from kebab.pages.page import ROWS, PostAction, WorkspacePage, list_page
from kebab.uuids import parse_uuid
from search.access.restrictions import readers_of, visible_documents
from search.models import Document, Source, SourceKind, SourceVersion
from search.models.document import MAX_PATH_CHARS

#: Folders shown on one page.
SHOWN_FOLDERS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder of a source."""

    name: str
    #: With a slash at its end.
    path: str
    #: Documents in it and below.
    count: int = 0


def documents_below(access: Access, source: Source, folder: str) -> Any:
    """Return the documents of `source` below `folder`, each with its version.

    They have the `rest` of their paths, and `natural_path` to sort them by.
    """
    documents = visible_documents(access.workspace, access.reader).filter(source=source)
    below = documents.filter(path__startswith=folder).annotate(
        rest=Substr("path", len(folder) + 1), natural_path=NaturalKey("path")
    )
    return below.select_related("source", "version")


def list_folders(below: Any, folder: str) -> list[Folder]:
    """Return the folders directly in `folder`, by name, SHOWN_FOLDERS at most."""
    name = Func(F("rest"), Value("/"), Value(1), function="split_part", output_field=TextField())
    named = below.filter(rest__contains="/").annotate(name=name).order_by().values("name")
    rows = named.annotate(count=Count("pk")).order_by(NaturalKey("name"), "name")[:SHOWN_FOLDERS]
    return [Folder(name=row["name"], path=f"{folder}{row['name']}/", count=row["count"]) for row in rows]


def crumbs(folder: str) -> list[Folder]:
    """Return the folders on the way to `folder`, itself included."""
    names = [name for name in folder.split("/") if name]
    return [Folder(name=name, path="/".join(names[: number + 1]) + "/") for number, name in enumerate(names)]


_TAB = "sources"
#: Rows shown on a source's page.
SHOWN_ACTS = 5
SHOWN_VERSIONS = 50
# Orders of documents, by the parameter `order`.
_ORDERS: Final = {"path": ("natural_path", "id"), "date": ("-dated_at", "-id")}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """Related data of one source."""

    #: Names of the groups that it is restricted to, of those that the visitor may see; None if unrestricted.
    readers: list[str] | None
    #: By tag, the default version first, SHOWN_VERSIONS at most.
    versions: list[SourceVersion]
    has_more_versions: bool
    #: Newest first.
    acts: list[Act]
    #: The number of its refused and quarantined files.
    unreadable: int


def _count_by(model: type[Document | Unreadable], source: str) -> Coalesce:
    """Return the number of the model's rows whose field `source` is the outer query's source."""
    rows = model.objects.filter(**{source: OuterRef("pk")}, workspace=OuterRef("workspace")).order_by()
    return Coalesce(Subquery(rows.values(source).annotate(count=Count("*")).values("count")), 0)


def source_facts(access: Access, source: Any) -> SourceFacts:
    """Return the related data of `source`, which is one of `readable_sources`."""
    versions = SourceVersion.objects.in_workspace(access.workspace).filter(source=source)
    shown = list(versions.order_by("tag")[: SHOWN_VERSIONS + 1])
    firsts = list_acts(access).filter(source=source.pk).order_by("-created_at", "id")
    return SourceFacts(
        readers=_names(access, source),
        versions=shown[:SHOWN_VERSIONS],
        has_more_versions=len(shown) > SHOWN_VERSIONS,
        acts=build_acts(access, list(firsts[:SHOWN_ACTS])),
        unreadable=list_unreadable(access).filter(version__source=source.pk).count(),
    )


def _names(access: Access, source: Source) -> list[str] | None:
    groups = readers_of(source)
    if groups is None:
        return None
    rows = Group.objects.filter(workspace=access.workspace, pk__in=groups)
    return list(rows.order_by("name").values_list("name", flat=True))


class SourcesPage(WorkspacePage):
    """The sources of the workspace."""

    need = READ_SOURCES
    tab = _TAB

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the list, by key."""
        sources = readable_sources(self.access).annotate(
            document_count=_count_by(Document, "source"),
            unreadable_count=_count_by(Unreadable, "version__source"),
        )
        rows = list_page(self, request, sources, ordering=("key",))
        may_change = CHANGE_SOURCES.allows(self.access)
        return self.render(request, "ingest/sources.html", list=rows, may_change=may_change)


class SourcePage(WorkspacePage):
    """One source: its documents by folder, its activity and properties."""

    need = READ_SOURCES
    tab = _TAB

    def show(self, request: HttpRequest, workspace: Workspace, source_id: uuid.UUID) -> HttpResponse:
        """Return the page. Raises NotFound.

        `path` is the folder shown, `q` finds documents below it by path and title, `order` sorts.
        """
        source = get_source(self.access, source_id)
        names = request.GET.get("path", "")[:MAX_PATH_CHARS].strip("/")
        folder = f"{names}/" if names else ""
        q = request.GET.get("q", "").strip()[:MAX_PATH_CHARS]
        order = request.GET.get("order", "")
        order = order if order in _ORDERS else "path"
        below = documents_below(self.access, source, folder)
        shown = (
            below.filter(Q(path__icontains=q) | Q(title__icontains=q))
            if q
            else below.exclude(rest__contains="/")
        )
        context = {
            "source": source,
            "facts": source_facts(self.access, source),
            "list": list_page(self, request, shown, ordering=_ORDERS[order]),
            "folders": [] if q or "cursor" in request.GET else list_folders(below, folder),
            "crumbs": crumbs(folder),
            "path": folder,
            "q": q,
            "order": order,
            "is_synced": source.kind != SourceKind.UPLOAD,
            "may_change": CHANGE_SOURCES.allows(self.access),
        }
        return self.render(request, "ingest/source.html", **context)


@PostAction.of(need=CHANGE_SOURCES, tab=_TAB)
def delete_documents(page: PostAction, source_id: uuid.UUID) -> HttpResponse:
    """Ask for confirmation; once that is given delete the documents. Raises NotFound, Conflict."""
    source = get_source(page.access, source_id)
    chosen = [each for each in map(parse_uuid, page.request.POST.getlist("document")[:ROWS]) if each]
    documents = list(
        documents_below(page.access, source, "").filter(doc_id__in=chosen).order_by("natural_path")
    )
    if not documents:
        messages.error(page.request, _("Choose the documents to delete."))
    elif "confirmed" not in page.request.POST:
        context = {"source": source, "documents": documents}
        return page.render(page.request, "ingest/delete_documents.html", **context)
    for document in documents:
        delete_document(page.access, document)
    if documents:
        count = len(documents)
        messages.success(
            page.request,
            ngettext("Deleted %(n)d document.", "Deleted %(n)d documents.", count) % {"n": count},
        )
    return redirect("source", page.access.workspace.slug, source_id)


@PostAction.of(need=CHANGE_SOURCES, tab=_TAB)
def request_sync(page: PostAction, source_id: uuid.UUID) -> HttpResponse:
    """Request the sync. Raises NotFound, Conflict."""
    source = get_source(page.access, source_id)
    job = sync_source(page.access, source)
    return page.finish(_("Syncing %(source)s.") % {"source": source.title or source.key}, "act", job.pk)


@PostAction.of(need=CHANGE_SOURCES, tab=_TAB)
def test_source(page: PostAction, source_id: uuid.UUID) -> HttpResponse:
    """Connect, and say on the source's page what was found. Raises NotFound, Conflict, RateLimited."""
    source = get_source(page.access, source_id)
    try:
        messages.success(page.request, probe_source(page.access, source))
    except ConnectionFailed as error:
        messages.error(page.request, str(error))
    return redirect("source", page.access.workspace.slug, source_id)


@PostAction.of(need=CHANGE_SOURCES, tab=_TAB)
def request_deletion(page: PostAction, source_id: uuid.UUID) -> HttpResponse:
    """Request the deletion. Raises NotFound, Conflict."""
    source = get_source(page.access, source_id)
    delete_source(page.access, source)
    return page.finish(
        _("Deleting %(source)s with its documents.") % {"source": source.title or source.key}, "sources"
    )


@PostAction.of(need=CHANGE_SOURCES, tab=_TAB)
def request_version_deletion(page: PostAction, source_id: uuid.UUID) -> HttpResponse:
    """Request the deletion of the version `tag`. Raises NotFound, Conflict."""
    source = get_source(page.access, source_id)
    tag = page.request.POST.get("tag", "").replace("\0", "")
    delete_version(page.access, source, tag)
    return page.finish(_("Deleting version %(tag)s with its documents.") % {"tag": tag}, "source", source_id)
