"""Serializers of the configurations of sources, made of the declarations of their kinds."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field
from rest_framework import serializers

from ingest.connectors.declaration import ConnectorField, ConnectorKind
from ingest.connectors.kinds import KINDS, kind_of
from kebab.http.api.serializers import ShortListField, StrictSerializer
from kebab.identity.caller import Access, Need
from kebab.identity.models import Role, TokenScope
from search.models import Source
from search.retrieval.errors import InvalidGlob
from search.retrieval.query.glob import MAX_PATTERN_CHARS, compile_glob

#: The rights to read sources and to change them.
READ_SOURCES = Need(role=Role.VIEWER, scope="any")
CHANGE_SOURCES = Need(role=Role.EDITOR, scope=TokenScope.INGEST)
_MAX_ENTRIES = 100


class _CredentialsSerializer(StrictSerializer):
    """Credentials, of which exactly one alternative is given."""

    alternatives: ClassVar[Sequence[str]] = ()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Validate and return the credentials. Raises ValidationError."""
        if self.alternatives and len({*self.alternatives} & attrs.keys()) != 1:
            *others, last = self.alternatives
            raise serializers.ValidationError(f"Give one of {', '.join(others)} and {last}.")
        return attrs


class _ConfigSerializer(StrictSerializer):
    """The configuration of a source."""

    declared: ClassVar[ConnectorKind]

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Validate and return the fields. Raises ValidationError."""
        try:
            self.declared.validate(attrs)
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from error
        return attrs


def _validate_patterns(patterns: list[str]) -> None:
    try:
        for pattern in patterns:
            compile_glob(pattern)
    except InvalidGlob as error:
        raise serializers.ValidationError(str(error)) from error


def _make_field(field: ConnectorField) -> serializers.Field[Any, Any, Any, Any]:
    help_text = field.help if field.api_help is None else field.api_help
    options: dict[str, Any] = {"required": field.is_required, "help_text": str(help_text)}
    if field.type in ("list", "patterns"):
        is_patterns = field.type == "patterns"
        child = serializers.CharField(max_length=MAX_PATTERN_CHARS if is_patterns else field.max_chars)
        validators = [_validate_patterns] if is_patterns else []
        return ShortListField(child=child, max_length=_MAX_ENTRIES, validators=validators, **options)
    if field.type == "flag":
        return serializers.BooleanField(**options)
    if field.type == "number":
        least, greatest = field.limits
        return serializers.IntegerField(min_value=least, max_value=greatest, **options)
    is_trimmed = field.type not in ("path", "secret")
    return serializers.CharField(max_length=field.max_chars, trim_whitespace=is_trimmed, **options)


def _make_credentials(kind: ConnectorKind) -> type[StrictSerializer] | None:
    """Return the serializer of a kind's credentials; None if it takes none."""
    fields = kind.credential_fields
    if not fields:
        return None
    members = {
        **{field.name: _make_field(field) for field in fields},
        "alternatives": [field.name for field in fields if field.is_alternative],
        "__doc__": kind.credentials_doc
        or f"The credentials of a source of kind {kind.kind}. They are write-only.",
        "__module__": __name__,
    }
    return type(f"{_schema_name(kind)}Credentials", (_CredentialsSerializer,), members)


def _make_config(kind: ConnectorKind) -> type[StrictSerializer]:
    """Return the serializer of a kind's configuration, with its credentials."""
    members: dict[str, Any] = {
        **{field.name: _make_field(field) for field in kind.config_fields},
        "declared": kind,
        "__doc__": kind.config_doc or f"The configuration of a source of kind {kind.kind}.",
        "__module__": __name__,
    }
    if credentials := _CREDENTIALS[kind.kind]:
        is_required = any(field.is_required for field in kind.credential_fields)
        members["credentials"] = credentials(required=is_required, allow_null=not is_required)
    return type(f"{_schema_name(kind)}Config", (_ConfigSerializer,), members)


def _schema_name(kind: ConnectorKind) -> str:
    return kind.schema_name or kind.kind.title()


_CREDENTIALS = {name: _make_credentials(kind) for name, kind in KINDS.items()}
#: The configuration serializer of each kind that has a configuration.
CONFIGS: Mapping[str, type[StrictSerializer]] = {
    name: _make_config(kind) for name, kind in KINDS.items() if kind.fields
}


@extend_schema_field(
    PolymorphicProxySerializer(
        component_name="NewSourceConfig", serializers=list(CONFIGS.values()), resource_type_field_name=None
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
        serializers=list(filter(None, _CREDENTIALS.values())),
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
    if kind not in CONFIGS:
        if config:
            raise serializers.ValidationError({"config": f"A source of kind {kind} can't have a config."})
        return {}
    serializer = CONFIGS[kind](data=config)
    if not serializer.is_valid():
        raise serializers.ValidationError({"config": serializer.errors})
    return dict(serializer.validated_data)


def public_config(source: Source, access: Access) -> dict[str, Any]:
    """Return a source's configuration without its credentials, but with a flag whether it has any.

    Only who may change sources sees addresses whole.
    """
    config = source.config if CHANGE_SOURCES.allows(access) else source.masked_config
    if kind_of(source.kind).credential_fields:
        return {**config, "has_credentials": bool(source.sealed_credentials)}
    return dict(config)
