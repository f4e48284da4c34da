"""ORM lookups that bind a whole list as one value, so that the SQL text doesn't grow with the list."""

from typing import Any

from django.db.models import Field, JSONField, Lookup, UUIDField
from django.db.models.sql.compiler import SQLCompiler


class _AnyOf(Lookup):  # type: ignore[type-arg]  # the class itself is not generic
    """`column <operator> ANY(list)`; the list is a value or a parameter of a compiled query."""

    operator: str
    quantifier = "ANY"

    def get_prep_lookup(self) -> Any:
        """Return the list unchanged; psycopg adapts it."""
        return self.rhs

    def as_postgresql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, list[Any]]:
        """Return the SQL and its values."""
        column, values = self.process_lhs(compiler, connection)
        if hasattr(self.rhs, "resolve_expression"):
            list_sql, list_values = compiler.compile(self.rhs)
        else:
            list_sql, list_values = "%s", [self.rhs]
        type_ = "uuid" if isinstance(self.lhs.output_field, UUIDField) else "text"
        return f"{column} {self.operator} {self.quantifier}({list_sql}::{type_}[])", [*values, *list_values]


@Field.register_lookup
class AnyOf(_AnyOf):
    """The column is one of the values."""

    lookup_name = "any_of"
    operator = "="


@Field.register_lookup
class MatchesAny(_AnyOf):
    """The column matches one of the regular expressions."""

    lookup_name = "matches_any"
    operator = "~"


@Field.register_lookup
class MatchesNone(_AnyOf):
    """The column matches none of the regular expressions."""

    lookup_name = "matches_none"
    operator = "!~"
    quantifier = "ALL"


@JSONField.register_lookup
class MeetsPath(Lookup):  # type: ignore[type-arg]  # the class itself is not generic
    """The JSON meets an SQL/JSON path predicate; what a predicate can't compare doesn't meet it."""

    lookup_name = "meets_path"

    def get_prep_lookup(self) -> Any:
        """Return the predicate's text, or the parameter for it, unchanged."""
        return self.rhs

    def as_postgresql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, list[Any]]:
        """Return the SQL and its values."""
        column, values = self.process_lhs(compiler, connection)
        if hasattr(self.rhs, "resolve_expression"):
            path_sql, path_values = compiler.compile(self.rhs)
        else:
            path_sql, path_values = "%s", [self.rhs]
        return f"{column} @@ {path_sql}::jsonpath", [*values, *path_values]
