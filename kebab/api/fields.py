"""Serializer fields for what several parts of the API take and give."""

import math
import re
import uuid
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

_HEX32 = re.compile(r"\A[0-9a-f]{32}\Z")


@extend_schema_field({"type": "string", "pattern": "^[0-9a-f]{32}$"})
class HexIdField(serializers.Field[uuid.UUID, Any, str, Any]):
    """A document's or chunk's id: 32 lower-case hex digits on the wire, a UUID inside."""

    default_error_messages = {"invalid": "An id is 32 lower-case hex digits."}

    def to_internal_value(self, data: Any) -> uuid.UUID:
        """Give the id. Raises ValidationError."""
        if not isinstance(data, str) or not _HEX32.match(data):
            self.fail("invalid")
        return uuid.UUID(hex=data)

    def to_representation(self, value: uuid.UUID) -> str:
        """Give the 32 digits."""
        return value.hex


class FiniteFloatField(serializers.FloatField):
    """A number that is one: REST framework's own field takes `nan` and `inf`, which no limit stops."""

    default_error_messages = {"not_finite": "A finite number is needed."}

    def to_internal_value(self, data: Any) -> float:
        """Give the number. Raises ValidationError."""
        number = super().to_internal_value(data)
        if not math.isfinite(number):
            self.fail("not_finite")
        return number
