"""Serializers of sources and their versions."""

from typing import Any

from django.utils.text import slugify
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from ingest.api.fields import KeyField, TagsField
from ingest.api.jobs.serializers import JobSerializer
from ingest.api.sources.configs import ConfigField, CredentialsField, public_config, validate_config
from ingest.jobs.queue.schedule import LEAST_INTERVAL, LONGEST_INTERVAL, is_paused
from ingest.services.versions import AddedVersion
from kebab.http.api.serializers import NullableTextField, ShortListField, StrictSerializer
from kebab.people.groups import MAX_GROUPS
from search.access.restrictions import readers_of
from search.models import Source, SourceKind, SourceState, SourceVersion, Trust
from search.models.source import MAX_STARS, MAX_TAG_CHARS, MAX_TITLE_CHARS


class RulesField(ShortListField):
    """Rules for users of the library; rules in a project file take precedence."""

    def __init__(self, **options: Any) -> None:
        super().__init__(child=serializers.CharField(max_length=1_000), max_length=100, **options)


class ReadersField(ShortListField):
    """Ids, without duplicates, of the groups whose members alone may read a source."""

    def __init__(self, **options: Any) -> None:
        super().__init__(child=serializers.UUIDField(), max_length=MAX_GROUPS, **options)


_STARS_HELP = "What its host counts, for its trust score as a library; null: it isn't known."
_READERS_HELP = (
    "Ids of the groups that it is restricted to: beside owners and admins only their members and tokens know"
    " of it. null: every member."
)


class StarsField(serializers.IntegerField):
    """The number of stars that a library has on its host."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=0, max_value=MAX_STARS, allow_null=True, help_text=_STARS_HELP, **options)


class UpkeepFields(StrictSerializer):
    """The sync settings of a source."""

    watch = serializers.BooleanField(
        required=False, help_text="Of a folder: sync it soon after something in it has changed."
    )
    sync_every_minutes = serializers.IntegerField(
        min_value=LEAST_INTERVAL,
        max_value=LONGEST_INTERVAL,
        required=False,
        allow_null=True,
        help_text="null: only when someone asks for it. Stating it again ends a pause.",
    )


class NewSource(UpkeepFields):
    """The body that creates a source. Without a key, the key is derived from the name."""

    key = KeyField(required=False, help_text="Goes into the ids of all its documents, so it never changes.")
    name = serializers.CharField(max_length=300, required=False)
    kind = serializers.ChoiceField(SourceKind.choices)
    title = serializers.CharField(max_length=300, required=False)
    description = serializers.CharField(max_length=10_000, required=False, allow_blank=True)
    config = ConfigField(required=False)
    default_tags = TagsField(required=False)
    default_trust = serializers.ChoiceField(Trust.choices, required=False)
    stars = StarsField(required=False)
    rules = RulesField(required=False)
    readers = ReadersField(required=False, allow_null=True, help_text=_READERS_HELP)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Validate and return the fields of the source. Raises ValidationError."""
        name = attrs.pop("name", "")
        if "key" not in attrs:
            key = slugify(name).replace("_", "-")[:63].strip("-")
            if not key:
                raise serializers.ValidationError(
                    {"key": "Give a key: lower-case letters, digits and hyphens."}
                )
            attrs["key"] = str(KeyField().run_validation(key))
        attrs.setdefault("title", name or attrs["key"])
        attrs["config"] = validate_config(attrs["kind"], attrs.get("config", {}))
        return attrs


class SourceChange(UpkeepFields):
    """The body that changes a source; omitted fields stay unchanged."""

    title = serializers.CharField(max_length=300, required=False)
    description = serializers.CharField(max_length=10_000, required=False, allow_blank=True)
    default_tags = TagsField(required=False)
    default_trust = serializers.ChoiceField(Trust.choices, required=False)
    stars = StarsField(required=False)
    rules = RulesField(required=False)
    readers = ReadersField(required=False, allow_null=True, help_text=_READERS_HELP)
    credentials = CredentialsField(
        required=False, allow_null=True, help_text="They replace what the source has; null: none."
    )


class SyncBody(StrictSerializer):
    """The body of a sync, which may be left out."""

    version = serializers.CharField(
        max_length=MAX_TAG_CHARS, default="", allow_blank=True, help_text="A tag; it is added if it is new."
    )
    embed = serializers.BooleanField(
        default=True, help_text="false: embedded by the next upload or sync that embeds."
    )


class NewVersion(StrictSerializer):
    """The body that adds a version to a source."""

    tag = serializers.CharField(max_length=MAX_TAG_CHARS)
    title = serializers.CharField(max_length=MAX_TITLE_CHARS, default="", allow_blank=True)


class VersionQuery(StrictSerializer):
    """The parameter that names one version of a source."""

    tag = serializers.CharField(max_length=MAX_TAG_CHARS)


class SourceSerializer(serializers.Serializer[Source]):
    """A source with its readers, from `with_readers`."""

    id = serializers.UUIDField()
    key = serializers.CharField()
    kind = serializers.ChoiceField(SourceKind.choices)
    title = serializers.CharField()
    description = serializers.CharField()
    config = serializers.SerializerMethodField(
        help_text="What it reads, as its kind has it; `…` stands for what only who may change sources sees."
    )
    state = serializers.ChoiceField(SourceState.choices)
    default_tags = serializers.ListField(child=serializers.CharField())
    default_trust = serializers.ChoiceField(Trust.choices)
    stars = StarsField()
    library_id = serializers.CharField(help_text="How tools name it as a library.")
    document_count = serializers.IntegerField(help_text="Of all versions.")
    total_snippets = serializers.IntegerField(help_text="Chunks of the default version.")
    trust_score = serializers.FloatField(help_text="0 to 10, for ranking libraries.")
    rules = serializers.ListField(child=serializers.CharField())
    readers = serializers.SerializerMethodField(
        help_text=f"{_READERS_HELP} Who is neither sees their own groups alone."
    )
    offered_versions = serializers.SerializerMethodField(
        help_text="Titles by tag, as its project file names them; POST …/versions adds one."
    )
    last_indexed_at = serializers.DateTimeField(allow_null=True)
    watch = serializers.BooleanField()
    sync_every_minutes = serializers.IntegerField(allow_null=True)
    last_sync_at = serializers.DateTimeField(
        allow_null=True, help_text="When a sync of the default version last ended, however."
    )
    next_sync_at = serializers.DateTimeField(
        allow_null=True, help_text="When its schedule asks for the next sync; null: not, or not while paused."
    )
    sync_failures = serializers.IntegerField(help_text="Syncs that failed since one succeeded.")
    is_sync_paused = serializers.SerializerMethodField(
        help_text="Whether its schedule waits, after many failures, until a sync succeeds or it is restated."
    )
    created_at = serializers.DateTimeField()

    @extend_schema_field(ReadersField(allow_null=True))
    def get_readers(self, source: Source) -> list[str] | None:
        """Return the ids of the groups that the source is restricted to."""
        groups = readers_of(source)
        return None if groups is None else [str(group) for group in groups]

    def get_is_sync_paused(self, source: Source) -> bool:
        """Return whether the source's schedule is paused."""
        return is_paused(source)

    def get_config(self, source: Source) -> dict[str, Any]:
        """Return the configuration as the caller may see it."""
        return public_config(source, self.context["access"])

    def get_offered_versions(self, source: Source) -> dict[str, str]:
        """Return the titles of the versions in the project file, by tag."""
        return dict(source.project.get("versions", {}))


class ConnectionSerializer(serializers.Serializer[dict[str, str]]):
    """The result of a test of a source's connection."""

    found = serializers.CharField(help_text="What was found there, in words.")


class SourceVersionSerializer(serializers.Serializer[SourceVersion]):
    """A version of a source."""

    id = serializers.UUIDField()
    version = NullableTextField(source="tag", help_text="The tag; null: the default version.")
    title = serializers.CharField()
    commit = serializers.CharField()
    created_at = serializers.DateTimeField()


class AddedVersionSerializer(serializers.Serializer[AddedVersion]):
    """A new version and the job that reads it."""

    version = SourceVersionSerializer()
    job = JobSerializer(allow_null=True, help_text="null: uploads fill it.")
