"""Serializers of the configurations of sources, by kind."""

from collections.abc import Iterable, Mapping
from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field
from rest_framework import serializers

from ingest.connectors.git.address import MAX_URL_CHARS
from ingest.connectors.git.credentials import MAX_KEY_CHARS, MAX_SECRET_CHARS, MAX_USERNAME_CHARS
from ingest.connectors.records.declaration import MAX_TEXT_CHARS, ConnectorField, ConnectorKind
from ingest.connectors.records.kinds import RECORD_KINDS
from ingest.connectors.web.addresses import MAX_ADDRESS_CHARS
from ingest.connectors.web.config import DEFAULT_MAX_DEPTH, DEFAULT_MAX_PAGES, MAX_MAX_PAGES, WebConfig
from kebab.http.api.fields import ShortListField
from kebab.http.api.permissions import Need
from kebab.http.api.serializers import StrictSerializer
from kebab.people.access.caller import Access
from kebab.people.models import Role, TokenScope
from search.models import Source, SourceKind
from search.models.source import MAX_TAG_CHARS
from search.retrieval.errors import InvalidGlob
from search.retrieval.query.glob import MAX_PATTERN_CHARS, compile_glob

#: The rights to read sources and to change them.
READ_SOURCES = Need(role=Role.VIEWER, scope="any")
CHANGE_SOURCES = Need(role=Role.EDITOR, scope=TokenScope.INGEST)
_MAX_PATTERNS = 100


class FolderConfig(StrictSerializer):
    """The configuration of a folder source."""

    path = serializers.CharField(max_length=4_000, trim_whitespace=False)


class GitCredentials(StrictSerializer):
    """The credentials of a repository: a token, a password, or a private key for ssh. They are write-only."""

    username = serializers.CharField(max_length=MAX_USERNAME_CHARS, required=False)
    password = serializers.CharField(max_length=MAX_SECRET_CHARS, trim_whitespace=False, required=False)
    token = serializers.CharField(max_length=MAX_SECRET_CHARS, required=False)
    private_key = serializers.CharField(
        max_length=MAX_KEY_CHARS, trim_whitespace=False, required=False, help_text="Without a passphrase."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Validate and return the credentials. Raises ValidationError."""
        if len({"password", "token", "private_key"} & attrs.keys()) != 1:
            raise serializers.ValidationError("Give one of password, token and private_key.")
        return attrs


class GitConfig(StrictSerializer):
    """The configuration of a git source."""

    url = serializers.CharField(
        max_length=MAX_URL_CHARS,
        help_text="https, ssh (also git@host:path), or file below an allowed folder.",
    )
    branch = serializers.CharField(
        max_length=MAX_TAG_CHARS, required=False, help_text="The default version; else the default branch."
    )
    tags = ShortListField(
        child=serializers.CharField(max_length=MAX_PATTERN_CHARS),
        max_length=_MAX_PATTERNS,
        required=False,
        help_text="Patterns such as v* or release/*: tags that match become versions when they appear.",
    )
    credentials = GitCredentials(required=False, allow_null=True)

    def validate_tags(self, patterns: list[str]) -> list[str]:
        """Validate and return the patterns. Raises ValidationError."""
        return _validate_patterns(patterns)


class SiteConfig(StrictSerializer):
    """The configuration of a web source: `url`, whose links are followed, `sitemap`, or both, of one host."""

    url = serializers.CharField(
        max_length=MAX_ADDRESS_CHARS, required=False, help_text="http or https; what lies below it is read."
    )
    sitemap = serializers.CharField(
        max_length=MAX_ADDRESS_CHARS,
        required=False,
        help_text="XML, an index of such, or one address a line.",
    )
    whole_host = serializers.BooleanField(
        required=False, help_text="Also what lies not below `url`; false by default."
    )
    include = ShortListField(
        child=serializers.CharField(max_length=MAX_PATTERN_CHARS),
        max_length=_MAX_PATTERNS,
        required=False,
        help_text="Patterns of paths such as docs/**; without any, all pages are read.",
    )
    exclude = ShortListField(
        child=serializers.CharField(max_length=MAX_PATTERN_CHARS), max_length=_MAX_PATTERNS, required=False
    )
    max_pages = serializers.IntegerField(
        min_value=1, max_value=MAX_MAX_PAGES, required=False, help_text=f"{DEFAULT_MAX_PAGES:,} by default."
    )
    max_depth = serializers.IntegerField(
        min_value=0,
        max_value=1_000,
        required=False,
        help_text=f"Links from the start page on; {DEFAULT_MAX_DEPTH} by default.",
    )
    query_parameters = ShortListField(
        child=serializers.CharField(max_length=100),
        max_length=_MAX_PATTERNS,
        required=False,
        help_text="Names that tell pages apart; the rest of every query is dropped.",
    )

    def validate_include(self, patterns: list[str]) -> list[str]:
        """Validate and return the patterns. Raises ValidationError."""
        return _validate_patterns(patterns)

    def validate_exclude(self, patterns: list[str]) -> list[str]:
        """Validate and return the patterns. Raises ValidationError."""
        return _validate_patterns(patterns)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Validate and return the fields. Raises ValidationError."""
        try:
            WebConfig.parse(attrs)
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from error
        return attrs


def _validate_patterns(patterns: list[str]) -> list[str]:
    try:
        for pattern in patterns:
            compile_glob(pattern)
    except InvalidGlob as error:
        raise serializers.ValidationError(str(error)) from error
    return patterns


def _record_field(field: ConnectorField) -> serializers.Field[Any, Any, Any, Any]:
    options: dict[str, Any] = {"required": field.is_required, "help_text": str(field.help)}
    if field.type == "list":
        return ShortListField(
            child=serializers.CharField(max_length=MAX_TEXT_CHARS), max_length=_MAX_PATTERNS, **options
        )
    if field.type == "flag":
        return serializers.BooleanField(**options)
    return serializers.CharField(max_length=MAX_TEXT_CHARS, trim_whitespace=field.type != "secret", **options)


def _serializer_of(name: str, doc: str, fields: Iterable[ConnectorField]) -> type[StrictSerializer]:
    members = {field.name: _record_field(field) for field in fields}
    return type(name, (StrictSerializer,), {"__doc__": doc, "__module__": __name__, **members})


def _credentials_of(kind: ConnectorKind) -> type[StrictSerializer] | None:
    """Return the serializer of a kind's credentials; None if it takes none."""
    doc = f"The credentials of a source of kind {kind.kind}. They are write-only."
    name = f"{kind.kind.value.title()}Credentials"
    return _serializer_of(name, doc, kind.credential_fields) if kind.credential_fields else None


_CREDENTIALS = {kind: _credentials_of(declared) for kind, declared in RECORD_KINDS.items()}


def _record_serializer(kind: ConnectorKind) -> type[StrictSerializer]:
    """Return the serializer of a kind's configuration, from its declared fields."""
    name = kind.kind.value.title()
    config = _serializer_of(
        f"{name}Config", f"The configuration of a source of kind {kind.kind}.", kind.config_fields
    )
    credentials = _CREDENTIALS[kind.kind]
    if credentials is None:
        return config
    is_required = any(field.is_required for field in kind.credential_fields)
    nested = credentials(required=is_required, allow_null=not is_required)
    return type(config.__name__, (config,), {"credentials": nested, "__doc__": config.__doc__})


#: The configuration serializer of each kind.
CONFIGS: Mapping[str, type[StrictSerializer]] = {
    SourceKind.FOLDER: FolderConfig,
    SourceKind.GIT: GitConfig,
    SourceKind.WEB: SiteConfig,
    **{kind: _record_serializer(declared) for kind, declared in RECORD_KINDS.items()},
}
_KINDS_WITHOUT_CONFIG = frozenset({SourceKind.UPLOAD.value})


@extend_schema_field(
    PolymorphicProxySerializer(
        component_name="NewSourceConfig",
        serializers=list(CONFIGS.values()),
        resource_type_field_name=None,
    )
)
class ConfigField(serializers.Field[dict[str, Any], Any, Any, Any]):
    """An object whose fields depend on the source's kind."""

    default_error_messages = {"invalid": "A JSON object is needed."}

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """Return the object unchanged. Raises ValidationError."""
        if not isinstance(data, dict):
            self.fail("invalid")
        return data


@extend_schema_field(
    PolymorphicProxySerializer(
        component_name="NewCredentials",
        serializers=[GitCredentials, *filter(None, _CREDENTIALS.values())],
        resource_type_field_name=None,
    )
)
class CredentialsField(ConfigField):
    """Credentials whose fields depend on the source's kind; see `validate_change`."""


def validate_change(source: Source, changes: dict[str, Any]) -> dict[str, Any]:
    """Return the changes with valid credentials of the source's kind. Raises ValidationError."""
    serializer = CONFIGS[source.kind]().fields.get("credentials") if source.kind in CONFIGS else None
    if changes.get("credentials") is None or serializer is None:
        return changes
    try:
        return {**changes, "credentials": serializer.run_validation(changes["credentials"])}
    except serializers.ValidationError as error:
        raise serializers.ValidationError({"credentials": error.detail}) from error


def validate_config(kind: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Validate a configuration of this kind, and return its clean fields. Raises ValidationError."""
    if kind in _KINDS_WITHOUT_CONFIG:
        if config:
            raise serializers.ValidationError({"config": f"A source of kind {kind} has no config."})
        return {}
    if kind not in CONFIGS:
        raise serializers.ValidationError({"kind": f"Sources of kind {kind} can't be read by this version."})
    serializer = CONFIGS[kind](data=config)
    if not serializer.is_valid():
        raise serializers.ValidationError({"config": serializer.errors})
    return dict(serializer.validated_data)


def public_config(source: Source, access: Access) -> dict[str, Any]:
    """Return a source's configuration without its credentials, but with a flag whether it has any.

    Only who may change sources sees addresses whole.
    """
    config = source.config if CHANGE_SOURCES.allows(access) else source.masked_config
    if source.kind == SourceKind.GIT or source.kind in RECORD_KINDS:
        return {**config, "has_credentials": bool(source.sealed_credentials)}
    return dict(config)
