"""Compiled queries: querysets of hot paths, compiled to SQL once and run with different values.

Django takes 1.3 ms of processor time to build the SQL of a read-back and PostgreSQL 0.8 ms to answer it. The
SQL is still the ORM's: a queryset with params instead of values is compiled once for each shape of a query.
PostgreSQL takes a third of its time to parse and plan it: a query with one best plan is prepared once on each
connection (https://www.postgresql.org/docs/18/sql-prepare.html), by SQL, since the tenant's setting goes
with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain, count, zip_longest
from secrets import token_hex
from types import MappingProxyType
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, connections
from django.db.models import Expression, Field, Model, QuerySet
from django.db.models.base import ModelState
from django.db.models.sql.compiler import SQLCompiler
from psycopg import Connection, sql
from psycopg.errors import FeatureNotSupported, InvalidSqlStatementName

from kebab.tenancy.postgres.base import DatabaseWrapper


class Param(Expression):
    """A placeholder for a value that is given when the query is run."""

    def __init__(self, name: str, output_field: "Field[Any, Any] | None" = None) -> None:
        super().__init__(output_field=output_field)
        self.name = name

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, list[Any]]:
        """Return a placeholder whose parameter is this object itself."""
        return "%s", [self]


_Model = TypeVar("_Model", bound=Model)

# The prepared statements of each connection: the name by the SQL text.
_prepared: "WeakKeyDictionary[Connection[Any], dict[str, str]]" = WeakKeyDictionary()


@dataclass(frozen=True)
class CompiledQuery:
    """Compiled SQL whose parameters are constants and params."""

    sql: str
    parameters: tuple[Any, ...]
    #: Whether each connection prepares it once: for queries whose best plan doesn't depend on the values.
    is_prepared: bool = False

    def with_limit(self) -> "CompiledQuery":
        """Return the query with its number of rows limited by the param `limit`."""
        return replace(self, sql=f"{self.sql} LIMIT %s", parameters=(*self.parameters, Param("limit")))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the params, in their order."""
        return tuple(p.name for p in self.parameters if isinstance(p, Param))

    def fetch(
        self, values: Mapping[str, Any], options: Mapping[str, str] = MappingProxyType({})
    ) -> list[tuple[Any, ...]]:
        """Run the query and return its rows; `values` are the params by name. JSON columns come as text.

        `options` are PostgreSQL settings, by constant names. They are sent with the query and last until the
        transaction ends: in autocommit, for this query alone.
        """
        if not (self.is_prepared and settings.KEBAB_PLAN_ONCE):
            return _execute(self.sql, self._bind(values), options)
        # Each attribute of `connection` is looked up through the settings of all databases.
        wrapper = cast(DatabaseWrapper, connections[DEFAULT_DB_ALIAS])
        try:
            name = self._prepare(wrapper, options)
            params = [values[name] for name in self.names]
            if not options and _is_plain(wrapper):
                with wrapper.wrap_database_errors:
                    return wrapper.fetch_prepared(name, params)
            return _execute(f"EXECUTE {name}{_placeholders(len(params))}", params, options)
        except DatabaseError as error:
            if not isinstance(error.__cause__, _OUTDATED) or wrapper.in_atomic_block:
                raise
            _prepared.pop(wrapper.connection, None)
            return _execute(self.sql, self._bind(values), options)

    def _bind(self, values: Mapping[str, Any]) -> list[Any]:
        return [values[p.name] if isinstance(p, Param) else p for p in self.parameters]

    def _prepare(self, wrapper: DatabaseWrapper, options: Mapping[str, str]) -> str:
        """Return the name of the prepared statement, preparing it on this connection if needed."""
        wrapper.ensure_connection()
        names = _prepared.setdefault(wrapper.connection, {})
        if self.sql in names:
            return names[self.sql]
        name = f"kebab_{token_hex(8)}"
        positions = (f"${number}" for number in count(1))
        filled = [
            sql.SQL(next(positions)) if isinstance(p, Param) else sql.Literal(p) for p in self.parameters
        ]
        parts = chain.from_iterable(
            zip_longest(map(sql.SQL, self.sql.split("%s")), filled, fillvalue=sql.SQL(""))
        )
        limits = (sql.SQL(f"SET LOCAL {key} = {{}};").format(value) for key, value in options.items())
        prepare = sql.SQL("PREPARE {} AS ").format(sql.Identifier(name))
        with wrapper.cursor() as cursor:
            cursor.execute(sql.Composed([*limits, prepare, *parts]))
        names[self.sql] = name
        return name


# A migration has changed the result type; the connection, or a pooler, has lost the prepared statement.
_OUTDATED = (FeatureNotSupported, InvalidSqlStatementName)


def _placeholders(number: int) -> str:
    return f"({', '.join(['%s'] * number)})" if number else ""


def _is_plain(wrapper: DatabaseWrapper) -> bool:
    """Return whether a statement needs neither a transaction nor a wrapper, such as that which logs it."""
    if wrapper.in_atomic_block or wrapper.queries_logged or wrapper.execute_wrappers:
        return False
    return bool(wrapper.connection.autocommit)


def _execute(text: str, values: Sequence[Any], options: Mapping[str, str]) -> list[tuple[Any, ...]]:
    before = "".join(f"SET LOCAL {name} = %s;" for name in options)
    with connection.cursor() as cursor:
        cursor.execute(before + text, [*options.values(), *values])
        for _ in options:
            cursor.nextset()
        return list(cursor.fetchall())


def load_instance(model: type[_Model], names: tuple[str, ...], values: Sequence[Any]) -> _Model:
    """Return the model instance of a row of `values_list(*names)`, as a query by the ORM would.

    Models that are loaded so have no `__init__` of their own and no receivers of its signals.
    """
    instance = model.__new__(model)
    instance._state = ModelState()
    instance._state.adding, instance._state.db = False, DEFAULT_DB_ALIAS
    for (attribute, convert), value in zip(_loaded_fields(model, names), values, strict=True):
        instance.__dict__[attribute] = value if convert is None else convert(value, None, connection)
    return instance


@cache
def _loaded_fields(model: type[Model], names: tuple[str, ...]) -> list[tuple[str, Any]]:
    """Return for each of the fields its attribute, and the conversion of its values if it has one."""
    concrete = {field.name: field for field in model._meta.concrete_fields}
    return [(concrete[name].attname, getattr(concrete[name], "from_db_value", None)) for name in names]


def compile_queryset(queryset: "QuerySet[Any, Any]", *, is_prepared: bool = False) -> CompiledQuery:
    """Compile a queryset of `values_list`."""
    text, parameters = queryset.query.sql_with_params()
    return CompiledQuery(text, tuple(parameters), is_prepared)
