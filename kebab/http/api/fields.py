"""Serializer fields that several parts of the API share."""

import re
import uuid
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kebab.http.api.parsers import strip_unstorable

_HEX32 = re.compile(r"\A[0-9a-f]{32}\Z")


@extend_schema_field({"type": "string", "pattern": "^[0-9a-f]{32}$"})
class HexIdField(serializers.Field[uuid.UUID, Any, str, Any]):
    """A document's or chunk's id: 32 lower-case hex digits on the wire, a UUID inside."""

    default_error_messages = {"invalid": "An id is 32 lower-case hex digits."}

    def to_internal_value(self, data: Any) -> uuid.UUID:
        """Return the id. Raises ValidationError."""
        if not isinstance(data, str) or not _HEX32.match(data):
            self.fail("invalid")
        return uuid.UUID(hex=data)

    def to_representation(self, value: uuid.UUID) -> str:
        """Return the 32 digits."""
        return value.hex


class TypedTextField(serializers.CharField):
    """Search text as typed: characters that can't be stored are dropped, not refused."""

    def to_internal_value(self, data: Any) -> str:
        """Return the text. Raises ValidationError for anything else."""
        return strip_unstorable(super().to_internal_value(data))


class NullableTextField(serializers.CharField):
    """Text that is only read, null where it is empty."""

    def __init__(self, **options: Any) -> None:
        super().__init__(read_only=True, allow_null=True, **options)

    def to_representation(self, value: Any) -> str | None:  # type: ignore[override]  # null for ""
        """Return the text."""
        return super().to_representation(value) or None


class ShortListField(serializers.ListField):
    """A list whose length is checked first: REST framework's own field validates every item before that.

    A body of 1 MB has room for 300,000 invalid items, which take a minute.
    """

    def to_internal_value(self, data: Any) -> list[Any]:
        """Return the items. Raises ValidationError."""
        if isinstance(data, list) and self.max_length is not None and len(data) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        return super().to_internal_value(data)
