"""ORM lookups that bind a whole list as one value, so that the SQL text doesn't grow with the list."""

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import CharField, DateTimeField, Field, JSONField, Lookup, Transform, UUIDField
from django.db.models.functions import Lower
from django.db.models.sql.compiler import SQLCompiler

#: The text in lower case, as `search.retrieval.query.conditions.fold_case` returns it.
CharField.register_lookup(Lower)


class _Bound(Lookup):  # type: ignore[type-arg]  # the class itself is not generic
    """An expression of the column and one value, or a parameter of a compiled query in its place."""

    expression = "{column} = ANY({value}::{type}[])"

    def get_prep_lookup(self) -> Any:
        """Return the value unchanged; psycopg adapts it."""
        return self.rhs

    def as_postgresql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, list[Any]]:
        """Return the SQL and its values."""
        column, values = self.process_lhs(compiler, connection)
        if hasattr(self.rhs, "resolve_expression"):
            value, own_values = compiler.compile(self.rhs)
        else:
            value, own_values = "%s", [self.rhs]
        type_ = "uuid" if isinstance(self.lhs.output_field, UUIDField) else "text"
        return self.expression.format(column=column, value=value, type=type_), [*values, *own_values]


@Field.register_lookup
class AnyOf(_Bound):
    """The column is one of the values."""

    lookup_name = "any_of"


@ArrayField.register_lookup
class OverlapFolded(_Bound):
    """One of the texts in the column is one of the values, which are in lower case."""

    lookup_name = "overlap_folded"
    expression = "lower({column}::text)::text[] && {value}::text[]"


@JSONField.register_lookup
class MeetsPath(_Bound):
    """The JSON meets an SQL/JSON path predicate; what a predicate can't compare doesn't meet it."""

    lookup_name = "meets_path"
    expression = "{column} @@ {value}::jsonpath"


@UUIDField.register_lookup
class Hex(Transform):
    """The id as 32 hex digits."""

    lookup_name = "hex"
    output_field = CharField()
    template = "replace((%(expressions)s)::text, '-', '')"


@DateTimeField.register_lookup
class Iso(Transform):
    """The time in ISO 8601, in UTC and whole seconds."""

    lookup_name = "iso"
    output_field = CharField()
    template = "to_char((%(expressions)s) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"+00:00\"')"


@DateTimeField.register_lookup
class Micros(Transform):
    """The time in microseconds since 1970, for compiled queries, which read numbers ten times as fast."""

    lookup_name = "micros"
    template = "(extract(epoch FROM %(expressions)s) * 1000000)::bigint"
