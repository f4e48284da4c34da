"""How sources are taken and given."""

from typing import Any

from django.utils.text import slugify
from rest_framework import serializers

from ingest.api.fields import KeyField, TagsField
from ingest.api.job_serializers import JobSerializer
from ingest.versions import AddedVersion
from kebab.api.fields import ShortListField
from kebab.api.serializers import StrictSerializer
from search.models import Source, SourceKind, SourceState, SourceVersion, Trust
from search.models.source import MAX_TAG_CHARS, MAX_TITLE_CHARS


class FolderConfig(StrictSerializer):
    """What a folder source reads."""

    path = serializers.CharField(max_length=4_000, trim_whitespace=False)


class RulesField(ShortListField):
    """What who works with the library should heed; a project file that names rules overrules them."""

    def __init__(self, **options: Any) -> None:
        super().__init__(child=serializers.CharField(max_length=1_000), max_length=100, **options)


class NewSource(StrictSerializer):
    """The body that makes a source. A name without a key gives the key too."""

    key = KeyField(required=False, help_text="Goes into the ids of all its documents, so it never changes.")
    name = serializers.CharField(max_length=300, required=False)
    kind = serializers.ChoiceField(SourceKind.choices)
    title = serializers.CharField(max_length=300, required=False)
    description = serializers.CharField(max_length=10_000, required=False, allow_blank=True)
    config = FolderConfig(required=False)
    default_tags = TagsField(required=False)
    default_trust = serializers.ChoiceField(Trust.choices, required=False)
    rules = RulesField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Give the fields of the source. Raises ValidationError."""
        name = attrs.pop("name", "")
        if "key" not in attrs:
            attrs["key"] = _key_from(name)
        attrs.setdefault("title", name or attrs["key"])
        attrs.setdefault("config", {})
        if bool(attrs["config"]) != (attrs["kind"] == SourceKind.FOLDER):
            raise serializers.ValidationError(
                {"config": "A folder needs config.path; uploads have no config."}
            )
        return attrs


def _key_from(name: str) -> str:
    key = slugify(name).replace("_", "-")[:63].strip("-")
    if not key:
        raise serializers.ValidationError({"key": "Give a key: lower-case letters, digits and hyphens."})
    return str(KeyField().run_validation(key))


class SourceChange(StrictSerializer):
    """The body that changes a source; what is left out stays."""

    title = serializers.CharField(max_length=300, required=False)
    description = serializers.CharField(max_length=10_000, required=False, allow_blank=True)
    default_tags = TagsField(required=False)
    default_trust = serializers.ChoiceField(Trust.choices, required=False)
    rules = RulesField(required=False)


class NewVersion(StrictSerializer):
    """The body that adds a version to a source."""

    tag = serializers.CharField(max_length=MAX_TAG_CHARS)
    title = serializers.CharField(max_length=MAX_TITLE_CHARS, default="", allow_blank=True)


class VersionQuery(StrictSerializer):
    """The parameter that names one version of a source."""

    tag = serializers.CharField(max_length=MAX_TAG_CHARS)


class SourceSerializer(serializers.Serializer[Source]):
    """A source."""

    id = serializers.UUIDField()
    key = serializers.CharField()
    kind = serializers.ChoiceField(SourceKind.choices)
    title = serializers.CharField()
    description = serializers.CharField()
    config = serializers.DictField()
    state = serializers.ChoiceField(SourceState.choices)
    default_tags = serializers.ListField(child=serializers.CharField())
    default_trust = serializers.ChoiceField(Trust.choices)
    library_id = serializers.CharField(help_text="How tools name it as a library.")
    total_snippets = serializers.IntegerField(help_text="Chunks of the default version.")
    trust_score = serializers.FloatField(help_text="0 to 10, for ranking libraries.")
    rules = serializers.ListField(child=serializers.CharField())
    last_indexed_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


class SourceVersionSerializer(serializers.Serializer[SourceVersion]):
    """A version of a source."""

    id = serializers.UUIDField()
    version = serializers.SerializerMethodField(help_text="The tag; null: the default version.")
    title = serializers.CharField()
    commit = serializers.CharField()
    created_at = serializers.DateTimeField()

    def get_version(self, version: SourceVersion) -> str | None:
        """Give the tag."""
        return version.tag or None


class AddedVersionSerializer(serializers.Serializer[AddedVersion]):
    """A new version and the job that reads it."""

    version = SourceVersionSerializer()
    job = JobSerializer(allow_null=True, help_text="null: uploads fill it.")
