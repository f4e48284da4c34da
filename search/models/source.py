"""Sources of documents, their versions and their readers."""

import re
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, Self

from django.contrib.postgres.fields import ArrayField
from django.db import IntegrityError, models, transaction

from kebab.http_client.connections import mask_address
from kebab.identity.models.workspace import SLUG
from kebab.identity.reader import Reader
from kebab.tenancy.fields import tenant_key, workspace_key
from search.libraries.ids import MAX_ID_CHARS, first_free, git_library_id, library_id_of
from search.libraries.trust import TrustFactors, trust_score
from search.models.source_kind import NAMED_BY_ADDRESS, SourceKind, source_kinds
from search.models.tenant import TenantQuerySet

#: For sources and versions.
MAX_TITLE_CHARS = 300
MAX_TAG_CHARS = 200
#: The maximum of its integer column.
MAX_STARS = 2**31 - 1
_LIBRARY_ID_ONCE = "source_library_id_once"


class SourceState(models.TextChoices):
    """States of a source; in `error`, documents indexed before stay searchable."""

    PENDING = "pending"
    INDEXING = "indexing"
    INDEXED = "indexed"
    ERROR = "error"


class SourceQuerySet(TenantQuerySet["Source"]):
    """A queryset of sources with the restriction to readable ones."""

    def readable_by(self, reader: Reader) -> Self:
        """Return only the sources that `reader` may read; the others don't exist for them."""
        return self if reader.reads_all else self.filter(is_readable(list(reader.groups)))


class Source(models.Model):
    """A source of documents. `key` never changes: it is part of the ids of all its documents."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = workspace_key()
    key = models.CharField(max_length=63, validators=[SLUG])
    kind = models.CharField(max_length=10, choices=source_kinds)
    config = models.JSONField(default=dict, blank=True)
    # Credentials for reading it, encrypted by kebab.encryption; never in `config`, of which all members see
    # `masked_config`.
    sealed_credentials = models.TextField(blank=True, default="", db_default="", editable=False)
    title = models.CharField(max_length=MAX_TITLE_CHARS, blank=True)
    description = models.TextField(blank=True)
    state = models.CharField(max_length=10, choices=SourceState.choices, default=SourceState.PENDING)
    # Defaults for documents that don't set their own.
    default_tags = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    default_trust = models.CharField(max_length=10, default="unknown")
    trust_score = models.FloatField(default=0)
    stars = models.PositiveIntegerField(null=True, blank=True)
    total_snippets = models.PositiveIntegerField(default=0)
    rules = models.JSONField(default=list, blank=True)
    # Its id for tools; chosen at creation and kept when the title changes.
    library_id = models.CharField(max_length=MAX_ID_CHARS, editable=False)
    # Content of its project file when last read; see ingest.connectors.project_file.
    project = models.JSONField(default=dict, blank=True)
    last_indexed_at = models.DateTimeField(null=True, blank=True)
    # Whether changes in it trigger a sync; folders only.
    watch = models.BooleanField(default=False, db_default=False)
    # None: synced on request only.
    sync_every_minutes = models.PositiveIntegerField(null=True, blank=True)
    # Time of the next scheduled sync; None without a schedule, or while that is paused.
    next_sync_at = models.DateTimeField(null=True, blank=True)
    # End of the last sync, whatever its result.
    last_sync_at = models.DateTimeField(null=True, blank=True)
    # Start of the last sync that compared the bytes of all files of a folder, whatever their times and sizes.
    compared_at = models.DateTimeField(null=True, blank=True)
    # Number of failed syncs since the last successful one.
    sync_failures = models.PositiveIntegerField(default=0, db_default=0)
    # Whether only its readers, and callers who read everything, may know of it.
    is_restricted = models.BooleanField(default=False, db_default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = SourceQuerySet.as_manager()

    class Meta:
        ordering = ("key",)
        indexes = (
            models.Index(
                fields=("workspace", "next_sync_at"),
                condition=models.Q(next_sync_at__isnull=False),
                name="source_scheduled",
            ),
            models.Index(fields=("workspace", "key"), condition=models.Q(watch=True), name="source_watched"),
            # Every search asks whether the workspace has a restricted source.
            models.Index(
                fields=("workspace",), condition=models.Q(is_restricted=True), name="source_restricted"
            ),
        )
        constraints = (
            models.UniqueConstraint(fields=("workspace", "key"), name="source_key_once"),
            models.UniqueConstraint(fields=("workspace", "library_id"), name=_LIBRARY_ID_ONCE),
            models.CheckConstraint(
                condition=models.Q(state__in=SourceState.values), name="source_state_known"
            ),
        )

    def __str__(self) -> str:
        return self.key

    def save(self, **options: Any) -> None:
        """Save the row; a new source gets an unused library id and its first trust score."""
        if self.library_id:
            super().save(**options)
            return
        self.trust_score = self.trust_score or trust_score(self.trust_factors)
        while not self._is_saved_under_free_id(options):
            pass  # another source has taken the id concurrently

    @property
    def is_on_git_host(self) -> bool:
        """Return whether it reads a repository on a git host."""
        return git_library_id(self._url) is not None

    @property
    def trust_factors(self) -> TrustFactors:
        """Return the factors of its trust score."""
        return TrustFactors(
            stars=self.stars,
            total_snippets=self.total_snippets,
            is_on_git_host=self.is_on_git_host,
            is_indexed=self.last_indexed_at is not None,
            is_described=bool(self.description.strip()),
        )

    @property
    def masked_config(self) -> dict[str, Any]:
        """Return the config for those who may not change it: `…` stands for what may be a secret."""
        keeps_paths = self.kind in NAMED_BY_ADDRESS
        return {name: _mask(value, keeps_paths=keeps_paths) for name, value in self.config.items()}

    @property
    def hidden_parts(self) -> list[str]:
        """Return what `masked_config` leaves out, whole and in parts, as a server may repeat one."""
        whole, masked = (_flatten(config.values()) for config in (self.config, self.masked_config))
        hidden = (
            value.removeprefix(shown.rstrip("…"))
            for value, shown in zip(whole, masked, strict=True)
            if value != shown
        )
        return [part for each in hidden for part in dict.fromkeys((each, *re.split("[/?&=]", each)))]

    @property
    def _url(self) -> str:
        # Another kind's URL is never a repository's, whatever it looks like.
        return str(self.config.get("url") or "") if self.kind == SourceKind.GIT else ""

    def _is_saved_under_free_id(self, options: dict[str, Any]) -> bool:
        wanted = library_id_of(url=self._url, title=self.title, key=self.key)
        like = Source.objects.in_workspace(self.workspace_id).filter(library_id__startswith=wanted)
        self.library_id = first_free(wanted, set(like.values_list("library_id", flat=True)))
        try:
            with transaction.atomic():
                super().save(**options)
        except IntegrityError as error:
            self.library_id = ""
            if _LIBRARY_ID_ONCE not in str(error):
                raise
            return False
        return True


def _mask(value: Any, *, keeps_paths: bool) -> Any:
    if isinstance(value, str) and "://" in value:
        return mask_address(value, keeps_path=keeps_paths)
    if isinstance(value, list) and not keeps_paths:
        return [re.sub(r"=.*", "=…", str(each), flags=re.DOTALL) for each in value]
    return value


def is_masked(config: Mapping[str, Any]) -> bool:
    """Return whether a config lacks what `masked_config` leaves out."""
    return any(each.endswith("…") for each in _flatten(config.values()))


def _flatten(values: Iterable[Any]) -> list[str]:
    return [str(each) for value in values for each in (value if isinstance(value, list) else [value])]


class SourceReader(models.Model):
    """A group whose members may read a restricted source."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = workspace_key()
    source = tenant_key("search.Source", "readers")
    group = tenant_key("people.Group", "+")

    objects = TenantQuerySet.as_manager()

    class Meta:
        # For the sources of a group, and for the deletion of groups.
        indexes = (models.Index(fields=("workspace", "group"), name="source_reader_by_group"),)
        constraints = (
            models.UniqueConstraint(fields=("workspace", "source", "group"), name="source_reader_once"),
        )

    def __str__(self) -> str:
        return f"group {self.group_id} reads source {self.source_id}"


def is_readable(groups: list[uuid.UUID] | models.Expression) -> models.Q:
    """Return the condition that members of `groups`, who can't read everything, may know of a source.

    The single definition of this rule; `groups` may be a parameter of a compiled query.
    """
    readers = SourceReader.objects.filter(
        workspace=models.OuterRef("workspace"), source=models.OuterRef("pk"), group__pk__any_of=groups
    )
    return models.Q(is_restricted=False) | models.Q(models.Exists(readers))


class SourceVersion(models.Model):
    """One version of a source; the tag of the default branch is empty."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = workspace_key()
    source = tenant_key("search.Source", "versions")
    tag = models.CharField(max_length=MAX_TAG_CHARS, blank=True, default="")
    commit = models.CharField(max_length=64, blank=True, default="")
    title = models.CharField(max_length=MAX_TITLE_CHARS, blank=True, default="")
    # State of its connector; everything before it is stored.
    cursor = models.TextField(blank=True, default="", db_default="", editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TenantQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("workspace", "source", "tag"), name="version_tag_once"),
        )

    def __str__(self) -> str:
        return self.tag or "default"
