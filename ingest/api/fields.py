"""Serializer fields of documents and sources."""

import json
from typing import Any

from django.core.validators import RegexValidator
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kebab.errors import InvalidRequest
from kebab.http.api.parsers import parse_json
from kebab.http.api.serializers import ShortListField
from kebab.identity.models.workspace import SLUG
from kebab.uuids import parse_uuid

MAX_TAGS = 100
MAX_METADATA_CHARS = 20_000


class KeyField(serializers.CharField):
    """A source's key. One that parses as a UUID is refused: it could be taken for another source's id."""

    default_error_messages = {"uuid": "A key can't read as a UUID; choose another one."}

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=63, validators=[SLUG], **options)

    def to_internal_value(self, data: Any) -> str:
        """Return the key. Raises ValidationError."""
        key = super().to_internal_value(data)
        if parse_uuid(key) is not None:
            self.fail("uuid")
        return key


class LangField(serializers.CharField):
    """A language tag such as `en` or `pt-BR`; `und` means undetermined."""

    def __init__(self, **options: Any) -> None:
        tag = RegexValidator(
            r"\A[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*\Z", "Give a language tag such as en or pt-BR."
        )
        super().__init__(max_length=16, validators=[tag], **options)


class TagsField(ShortListField):
    """Tags without duplicates, in the order given."""

    def __init__(self, **options: Any) -> None:
        super().__init__(child=serializers.CharField(max_length=100), max_length=MAX_TAGS, **options)

    def to_internal_value(self, data: Any) -> list[str]:
        """Return the tags. Raises ValidationError."""
        return list(dict.fromkeys(super().to_internal_value(data)))


@extend_schema_field(OpenApiTypes.OBJECT)
class ObjectField(serializers.Field[dict[str, Any], Any, Any, Any]):
    """A JSON object of limited size."""

    default_error_messages = {
        "invalid": "A JSON object is needed.",
        "max_length": "It has more than {limit} characters as JSON.",
    }

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """Return the object. Raises ValidationError."""
        if not isinstance(data, dict):
            self.fail("invalid")
        if len(json.dumps(data)) > MAX_METADATA_CHARS:
            self.fail("max_length", limit=MAX_METADATA_CHARS)
        return data

    def to_representation(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return the object."""
        return value


@extend_schema_field(OpenApiTypes.STR)
class ObjectTextField(ObjectField):
    """A JSON object encoded as text, as in a form."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """Return the object. Raises ValidationError."""
        try:
            return super().to_internal_value(parse_json(str(data).encode()))
        except InvalidRequest:
            self.fail("invalid")
