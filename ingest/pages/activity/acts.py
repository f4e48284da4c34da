"""Acts: a job, or the jobs of one upload of many files, with the embedding that followed."""

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Case, Count, F, IntegerField, Max, Min, Q, QuerySet, Sum, When
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ingest.api.querysets import readable_jobs
from ingest.models import OPEN_STATES, UPLOAD_KINDS, Job, JobKind, JobState
from kebab.identity.caller import Access
from kebab.identity.models import ApiToken, TokenScope, User
from kebab.identity.operator_token import OPERATOR_PREFIX

_EMBEDS: Final = Q(kind=JobKind.EMBED)
_IS_OPEN: Final = Q(state__in=OPEN_STATES)
# An archive counts as one file.
_FILES: Final = Case(When(kind=JobKind.INGEST_DOCUMENTS, then=F("items_total")), default=1)
_COUNTED: Final = ("new", "updated", "unchanged", "deleted")
_ICONS: Final[Mapping[str, str]] = {
    JobKind.SYNC_SOURCE: "refresh-cw",
    JobKind.INGEST_DOCUMENT: "upload",
    JobKind.INGEST_DOCUMENTS: "upload",
    JobKind.INGEST_ARCHIVE: "file-archive",
    JobKind.DELETE_SOURCE: "trash-2",
    JobKind.DELETE_VERSION: "trash-2",
    JobKind.EMBED: "sparkles",
    JobKind.EVALUATE: "target",
    JobKind.RECHUNK: "file-pen",
    JobKind.GATE: "flask-conical",
}
#: The filters of the list, as its parameter `show`.
RUNNING: Final = "running"
ATTENTION: Final = "attention"


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One act with the totals of its jobs."""

    #: Its first job, with its source loaded.
    job: Job
    totals: Mapping[str, Any]
    #: Names of people and tokens, by actor.
    names: Mapping[str, str]

    @property
    def title(self) -> str:
        """Return the sentence of who did what."""
        files = self.totals["files"]
        facts = {
            "who": _actor(self.job.requested_by, self.names),
            "source": _source_name(self.job),
            "count": files,
            "path": str(self.job.payload.get("path", self.job.payload.get("archive", "")))[:200],
            "version": self.job.payload.get("version", ""),
        }
        return _pattern(self.job, files) % facts

    @property
    def icon(self) -> str:
        """Return the name of its icon."""
        return _ICONS.get(self.job.kind, "activity")

    @property
    def is_running(self) -> bool:
        """Return whether a job of it is open, the embedding aside."""
        return bool(self.totals["open"])

    @property
    def is_embedding(self) -> bool:
        """Return whether its documents are searchable, and their vectors still being made."""
        return not self.is_running and bool(self.totals["embedding"])

    @property
    def is_open(self) -> bool:
        """Return whether it still changes."""
        return self.is_running or self.is_embedding

    @property
    def needs_attention(self) -> bool:
        """Return whether somebody has to look at it."""
        return bool(self.totals["marked"])

    @property
    def state(self) -> str:
        """Return `waiting`, `running`, `failed`, `partial`, `cancelled` or `done`."""
        if self.is_running:
            has_begun = self.totals["running"] or self.totals["done"]
            return RUNNING if has_begun else "waiting"
        ended = self.totals
        if ended["failed"] and not ended["succeeded"]:
            return "failed"
        if ended["cancelled"] and not ended["succeeded"]:
            return "cancelled"
        return "partial" if ended["refused"] or ended["failed"] else "done"

    @property
    def is_known_size(self) -> bool:
        """Return whether its items are listed, so that a progress bar has an end."""
        return self.job.kind != JobKind.SYNC_SOURCE or self.job.discovered_at is not None

    @property
    def duration_s(self) -> float | None:
        """Return the seconds from its start to its end, or until now; None before it starts."""
        begin = self.totals["begin"]
        if begin is None:
            return None
        end = timezone.now() if self.is_running else self.totals["end"]
        return None if end is None else max(0.0, (end - begin).total_seconds())

    @property
    def figures(self) -> Sequence[str]:
        """Return the numbers of its files in words, without those that are zero."""
        words = {
            "new": ngettext("%(n)d new", "%(n)d new", self.totals["new"]),
            "updated": ngettext("%(n)d updated", "%(n)d updated", self.totals["updated"]),
            "deleted": ngettext("%(n)d deleted", "%(n)d deleted", self.totals["deleted"]),
            "refused": ngettext("%(n)d not added", "%(n)d not added", self.totals["refused"]),
        }
        return [text % {"n": self.totals[name]} for name, text in words.items() if self.totals[name]]

    @property
    def is_of_schedule(self) -> bool:
        """Return whether a schedule or a watcher caused it, not a person."""
        return "@" not in self.job.requested_by and ":" not in self.job.requested_by


def list_acts(access: Access, *, show: str = "") -> "QuerySet[Any]":
    """Return the first jobs of the acts that the caller may see, filtered by `show`; others show all.

    Embedding that no person asked for is part of another act, and shown alone only when it fails.
    """
    jobs = readable_jobs(access)
    firsts = jobs.filter(batch=None).exclude(_EMBEDS, requested_by="", needs_attention=False)
    chosen = {RUNNING: _IS_OPEN, ATTENTION: Q(needs_attention=True)}.get(show)
    if chosen is not None:
        firsts = firsts.filter(pk__in=jobs.filter(chosen).with_act().values("act"))
    return firsts.select_related("source")  # type: ignore[no-any-return]  # a queryset without types


def count_attention(access: Access) -> int:
    """Return the number of acts that need attention, by one query of a partial index; 0 for readers."""
    if TokenScope.INGEST not in access.scopes:
        return 0
    marked = readable_jobs(access).filter(needs_attention=True).with_act()
    return int(marked.aggregate(count=Count("act", distinct=True))["count"])


def act_jobs(access: Access, first: Job) -> "QuerySet[Any]":
    """Return the jobs of the act of `first` that the caller may see."""
    return readable_jobs(access).filter(Q(pk=first.pk) | Q(batch=first.pk))  # type: ignore[no-any-return]  # a queryset without types


def build_acts(access: Access, firsts: Sequence[Job]) -> list[Act]:
    """Return the acts of these first jobs, in order: two queries, and up to two for names."""
    totals = _totals(access, [job.pk for job in firsts])
    actors = {job.requested_by for job in firsts}
    emails = {actor for actor in actors if "@" in actor}
    prefixes = {actor.removeprefix(_KBB) for actor in actors if actor.startswith(_KBB)}
    members = User.objects.filter(email__in=emails, memberships__workspace=access.workspace) if emails else ()
    tokens = ApiToken.objects.filter(workspace=access.workspace, prefix__in=prefixes) if prefixes else ()
    names = {
        **{user.email: user.display_name for user in members if user.display_name},
        **{f"{_KBB}{token.prefix}": token.name for token in tokens if token.name},
    }
    return [Act(job=job, totals=totals[job.pk], names=names) for job in firsts]


def _totals(access: Access, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, Mapping[str, Any]]:
    jobs = readable_jobs(access).filter(Q(pk__in=ids) | Q(batch__in=ids)).with_act()
    reads = ~_EMBEDS
    # The embedding that a sync causes doesn't decide how the act ended.
    deciding = reads | Q(batch=None)
    rows = jobs.order_by().values("act").annotate(
        files=_sum(_FILES, Q(kind__in=UPLOAD_KINDS) & ~Q(payload__has_key="anew")),
        open=Count("pk", filter=_IS_OPEN & deciding),
        running=Count("pk", filter=Q(state=JobState.RUNNING)),
        embedding=Count("pk", filter=_EMBEDS & _IS_OPEN),
        marked=Count("pk", filter=Q(needs_attention=True)),
        succeeded=Count("pk", filter=deciding & Q(state=JobState.SUCCEEDED)),
        failed=Count("pk", filter=Q(state=JobState.FAILED)),
        cancelled=Count("pk", filter=deciding & Q(state=JobState.CANCELLED)),
        refused=Sum("refused_items"),
        total=_sum(F("items_total"), deciding),
        done=_sum(F("items_done"), deciding),
        embed_total=_sum(F("items_total"), _EMBEDS & _IS_OPEN),
        embed_done=_sum(F("items_done"), _EMBEDS & _IS_OPEN),
        begin=Min("started_at"),
        end=Max("finished_at", filter=deciding),
        **{name: _sum(Cast(KT(f"counts__{name}"), IntegerField()), reads) for name in _COUNTED},
    )  # fmt: skip
    return {row["act"]: row for row in rows}


def _sum(value: Any, condition: Q) -> Any:
    return Coalesce(Sum(value, filter=condition), 0)


#: Before the prefix of a token in `Caller.actor`.
_KBB = "kbb_"


def _pattern(job: Job, files: int) -> str:
    if files > 1:
        return ngettext(
            "%(who)s uploaded %(count)d file to %(source)s",
            "%(who)s uploaded %(count)d files to %(source)s",
            files,
        )
    if job.kind == JobKind.RECHUNK and "path" not in job.payload:
        return _("%(who)s re-indexed %(source)s")
    patterns = {
        JobKind.SYNC_SOURCE: _("%(who)s synced %(source)s"),
        JobKind.INGEST_DOCUMENT: _("%(who)s uploaded %(path)s to %(source)s"),
        JobKind.INGEST_ARCHIVE: _("%(who)s uploaded %(path)s to %(source)s"),
        JobKind.DELETE_SOURCE: _("%(who)s deleted the source %(source)s"),
        JobKind.DELETE_VERSION: _("%(who)s deleted version %(version)s of %(source)s"),
        JobKind.EMBED: _("%(who)s updated the search by meaning"),
        JobKind.EVALUATE: _("%(who)s ran an evaluation"),
        JobKind.RECHUNK: _("%(who)s changed %(path)s"),
        JobKind.GATE: _("%(who)s tried other search settings"),
    }
    return patterns.get(JobKind(job.kind), "%(who)s")


def _actor(actor: str, names: Mapping[str, str]) -> str:
    if actor.startswith(OPERATOR_PREFIX):
        return _("An operator")
    known = names.get(actor)
    # Schedules, watchers and upgrades have no name of their own.
    return known or (actor if "@" in actor or actor.startswith(_KBB) else "Kebab")


def _source_name(job: Job) -> str:
    if job.source is not None:
        return str(job.source.title or job.source.key)
    return str(job.payload.get("title") or _("a deleted source"))
