"""Querysets of the paths that every search takes, compiled once and run with other values.

Django takes 1.3 ms of processor time to put a read-back together and PostgreSQL 0.8 ms to answer it. The SQL
is still the ORM's: a queryset with slots in the place of values is compiled once for each shape of a query.
PostgreSQL takes a third of its time to read and plan it: what has one best plan is prepared once a connection
(https://www.postgresql.org/docs/18/sql-prepare.html), by SQL, since the tenant's setting goes with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, zip_longest
from secrets import token_hex
from types import MappingProxyType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Expression, Field, Model, QuerySet
from django.db.models.sql.compiler import SQLCompiler
from psycopg import Connection, sql
from psycopg.errors import FeatureNotSupported, InvalidSqlStatementName


class Slot(Expression):
    """The place of a value that is given when the statement is run."""

    def __init__(self, name: str, output_field: "Field[Any, Any] | None" = None) -> None:
        super().__init__(output_field=output_field)
        self.name = name

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, list[Any]]:
        """Return a parameter that is this slot itself."""
        return "%s", [self]


_Model = TypeVar("_Model", bound=Model)

# What each connection has planned: the name by the text.
_planned: "WeakKeyDictionary[Connection[Any], dict[str, str]]" = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Statement:
    """Compiled SQL whose parameters are constants and slots."""

    sql: str
    parameters: tuple[Any, ...]
    #: Whether a connection plans it once for all values: where the best plan doesn't depend on them.
    is_planned_once: bool = False

    def limited(self) -> "Statement":
        """Return the statement with its number of rows in the slot `limit`."""
        return replace(self, sql=f"{self.sql} LIMIT %s", parameters=(*self.parameters, Slot("limit")))

    def rows(
        self, values: Mapping[str, Any], options: Mapping[str, str] = MappingProxyType({})
    ) -> list[tuple[Any, ...]]:
        """Run it; `values` fills the slots by name. JSON columns come as text.

        `options` are PostgreSQL's, by constant names, and hold until the transaction ends: without one
        around it, for this statement alone. They travel with it.
        """
        with connection.cursor() as cursor:
            if not (self.is_planned_once and settings.KEBAB_PLAN_ONCE):
                return _sent(cursor, self.sql, self._filled(values), options)
            try:
                name = self._planned(cursor, options)
                slots = [values[p.name] for p in self.parameters if isinstance(p, Slot)]
                return _sent(cursor, f"EXECUTE {name}{_places(slots)}", slots, options)
            except DatabaseError as error:
                if not isinstance(error.__cause__, _OUTDATED) or connection.in_atomic_block:
                    raise
                _planned.pop(connection.connection, None)
                return _sent(cursor, self.sql, self._filled(values), options)

    def _filled(self, values: Mapping[str, Any]) -> list[Any]:
        return [values[p.name] if isinstance(p, Slot) else p for p in self.parameters]

    def _planned(self, cursor: Any, options: Mapping[str, str]) -> str:
        """Return the name by which the connection knows the statement, planned now unless it was before."""
        names = _planned.setdefault(connection.connection, {})
        if self.sql not in names:
            name = f"kebab_{token_hex(8)}"
            places = (f"${number}" for number in count(1))
            filled = [
                sql.SQL(next(places)) if isinstance(p, Slot) else sql.Literal(p) for p in self.parameters
            ]
            texts = map(sql.SQL, self.sql.split("%s"))
            parts = chain.from_iterable(zip_longest(texts, filled, fillvalue=sql.SQL("")))
            limits = (sql.SQL(f"SET LOCAL {key} = {{}};").format(value) for key, value in options.items())
            prepare = sql.SQL("PREPARE {} AS ").format(sql.Identifier(name))
            cursor.execute(sql.Composed([*limits, prepare, *parts]))
            names[self.sql] = name
        return names[self.sql]


# A migration has changed what the statement gives; the connection, or a pooler, has forgotten it.
_OUTDATED = (FeatureNotSupported, InvalidSqlStatementName)


def _places(values: Sequence[Any]) -> str:
    return f"({', '.join(['%s'] * len(values))})" if values else ""


def _sent(cursor: Any, text: str, values: Sequence[Any], options: Mapping[str, str]) -> list[tuple[Any, ...]]:
    before = "".join(f"SET LOCAL {name} = %s;" for name in options)
    cursor.execute(before + text, [*options.values(), *values])
    for _ in options:
        cursor.nextset()
    return list(cursor.fetchall())


def loaded(model: type[_Model], names: Sequence[str], values: Sequence[Any]) -> _Model:
    """Return an instance of a row of `values_list(*names)`, names of fields, as a query by the ORM would."""
    fields = [model._meta.get_field(name) for name in names]
    given = [
        field.from_db_value(value, None, connection) if hasattr(field, "from_db_value") else value
        for field, value in zip(fields, values, strict=True)
    ]
    return model.from_db(connection.alias, [field.attname for field in fields], given)


def compiled(queryset: "QuerySet[Any, Any]", *, is_planned_once: bool = False) -> Statement:
    """Compile a queryset of `values_list`."""
    text, parameters = queryset.query.sql_with_params()
    return Statement(text, tuple(parameters), is_planned_once)
