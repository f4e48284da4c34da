"""Strict request serializers, where an unknown field is an error, and the types of their fields."""

import re
import uuid
from collections.abc import Mapping
from functools import cache, cached_property
from heapq import nsmallest
from typing import Any, TypeVar

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.fields import empty
from rest_framework.request import Request

from kebab.errors import FieldError, InvalidRequest
from kebab.http.api.parsers import check_text, strip_unstorable

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


# The message for each lists all known fields.
_MAX_UNKNOWN_NAMED = 10
_LISTS = (serializers.ListField, serializers.MultipleChoiceField)


class StrictSerializer(serializers.Serializer[Any]):
    """A serializer that refuses fields it doesn't have, the first of them by name, and names those it has."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the clean values. Raises ValidationError with every wrong and every unknown field."""
        unknown = self._unknown_fields(data)
        try:
            clean = self._clean(data) if type(data) is dict else super().to_internal_value(data)
        except ValidationError as error:
            if not unknown or not isinstance(error.detail, dict):
                raise
            raise ValidationError({**error.detail, **unknown}) from error
        if unknown:
            raise ValidationError(unknown)
        return clean

    def _clean(self, data: dict[str, Any]) -> dict[str, Any]:
        """Validate fields as REST framework does, which visits absent ones too. Raises ValidationError."""
        clean: dict[str, Any] = {}
        errors: dict[str, Any] = {}
        for name, field, is_optional in self._inputs:
            if is_optional and name not in data:
                continue
            validate_further = getattr(self, f"validate_{name}", None)
            try:
                value = field.run_validation(data.get(name, empty))
                clean[name] = value if validate_further is None else validate_further(value)
            except ValidationError as error:
                errors[name] = error.detail
        if errors:
            raise ValidationError(errors)
        return clean

    def run_validators(self, value: Any) -> None:
        """Run the validators of the whole; without any, REST framework still visits all fields."""
        if self.validators:
            super().run_validators(value)

    @cached_property
    def _inputs(self) -> list[tuple[str, Any, bool]]:
        """The writable fields with their names, and whether each may be absent."""
        writable = [(name, field) for name, field in self.fields.items() if not field.read_only]
        return [(name, field, not field.required and field.default is empty) for name, field in writable]

    def _unknown_fields(self, data: Any) -> dict[str, list[ErrorDetail]]:
        if not isinstance(data, Mapping):
            return {}
        known = [name for name, _, _ in self._inputs]
        names = {str(name)[:100] for name in data}.difference(known)
        if not names:
            return {}
        message = f"There is no such field; there are: {', '.join(known) or 'none'}."
        unknown = nsmallest(_MAX_UNKNOWN_NAMED, names)
        return {name: [ErrorDetail(message, code="unknown_field")] for name in unknown}


_Serializer = TypeVar("_Serializer", bound=StrictSerializer)


def strict_query(request: Request, serializer_class: type[StrictSerializer]) -> dict[str, Any]:
    """Return the clean parameters of a GET. A list field takes its repeated parameter; others come once.

    Raises ValidationError, InvalidRequest.
    """
    if serializer_class is StrictSerializer and not request.META.get("QUERY_STRING"):
        return {}
    given = request.query_params
    fields = _shared(serializer_class).fields
    typed = {name for name, field in fields.items() if isinstance(field, TypedTextField)}
    check_text({name: values[0] if len(values) == 1 else values for name, values in given.lists()}, typed)
    lists = {name for name, field in fields.items() if isinstance(field, _LISTS)}
    repeated = [name for name in given if len(given.getlist(name)) > 1 and name not in lists]
    if repeated:
        message = "This parameter may be given only once."
        raise InvalidRequest(
            f"Given more than once: {', '.join(repeated)}.",
            errors=[FieldError(field=name, message=message) for name in repeated],
        )
    values = {name: given.getlist(name) if name in lists else given[name] for name in given}
    return validate_fields(serializer_class, values)


@cache
def _shared(serializer_class: type[_Serializer]) -> _Serializer:
    """Return an instance of a serializer without options, made once per process.

    A serializer copies its fields deeply when it first needs them, which takes longer than the validation.
    Its `run_validation` keeps no state.
    """
    return serializer_class()


def strict_body(request: Request, serializer_class: type[StrictSerializer], **options: Any) -> dict[str, Any]:
    """Return the clean fields of a body. `options` are the serializer's. Raises ValidationError."""
    return validate_fields(serializer_class, request.data, **options)


def validate_fields(serializer_class: type[_Serializer], values: Any, **options: Any) -> dict[str, Any]:
    """Return the values cleaned by the serializer. Raises ValidationError."""
    if type(values) is dict and not options:
        return dict(_shared(serializer_class).run_validation(values))
    serializer = serializer_class(data=values, **options)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)
