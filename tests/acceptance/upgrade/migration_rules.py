"""Rules for migrations: the previous version works while they run and afterwards (decision 0008)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.contrib.postgres import operations as postgres
from django.db import migrations
from django.db.migrations.operations.base import Operation

from kebab.tenancy.migration_operations import AddIndexBeside

#: The last migration of each app in the first release; the rules apply to later ones.
FIRST_RELEASE: Mapping[str, int] = {"api": 2, "ingest": 11, "people": 6, "search": 18, "stack": 2}

_EXPANDING = (
    AddIndexBeside,
    postgres.AddConstraintNotValid,
    postgres.ValidateConstraint,
    migrations.AlterModelOptions,
    migrations.AlterModelManagers,
)
_CONTRACTING = (
    migrations.RenameField,
    migrations.RenameModel,
    migrations.RenameIndex,
    migrations.RemoveField,
    migrations.DeleteModel,
    migrations.AlterModelTable,
)
# Options of fields that don't affect the database.
_WORDS = {
    "choices",
    "help_text",
    "verbose_name",
    "validators",
    "blank",
    "default",
    "editable",
    "error_messages",
}
_TABLES = re.compile(r"\b(?:ALTER TABLE(?: ONLY)?|ON)\s+\"?(\w+)\"?", re.IGNORECASE)


def is_subject_to_rules(app: str, name: str) -> bool:
    """Return whether a migration of ours is later than the first release."""
    return app in FIRST_RELEASE and int(name.split("_")[0]) > FIRST_RELEASE[app]


def faults(migration: migrations.Migration, state: Any) -> Iterator[str]:
    """Yield the operations of a migration that block or contract; `state` is the project's state before it.

    The migration's `safe_because` may permit a fault, by the number of the operation, with a reason; an
    unused permission is a fault, too.
    """
    allowed = dict(getattr(migration, "safe_because", {}))
    new_tables: set[str] = set()
    locked: set[str] = set()
    for number, operation in enumerate(migration.operations):
        found = _fault(operation, migration.app_label, state, new_tables)
        reason = allowed.pop(number, "")
        if found and not reason.strip():
            yield f"operation {number}, {operation.describe()}: {found}"
        if reason and not found:
            yield f"operation {number}, {operation.describe()}: it needs no allowance"
        if isinstance(operation, migrations.CreateModel):
            new_tables |= {operation.name_lower, f"{migration.app_label}_{operation.name_lower}"}
        else:
            locked |= {getattr(operation, "model_name_lower", "")} - new_tables - {""}
        operation.state_forwards(migration.app_label, state)
    if migration.atomic and len(locked) > 1:
        yield f"it locks {', '.join(sorted(locked))} at once; searches may deadlock with it, so split it"
    yield from (f"safe_because names operation {number}, which there is not" for number in allowed)


def _fault(operation: Operation, app: str, state: Any, new_tables: set[str]) -> str:
    model = getattr(operation, "model_name_lower", "")
    if isinstance(operation, (migrations.CreateModel, *_EXPANDING)) or model in new_tables:
        return ""
    if isinstance(operation, _CONTRACTING):
        return "the version before still uses it; a later release may"
    if isinstance(operation, migrations.SeparateDatabaseAndState):
        found = (_fault(each, app, state, new_tables) for each in operation.database_operations)
        return next((each for each in found if each), "")
    if isinstance(operation, migrations.AddField):
        return _fault_of_new(operation.field)
    if isinstance(operation, migrations.AlterField):
        return _fault_of_altered(operation, app, state)
    if isinstance(operation, migrations.RunSQL):
        return _fault_of_sql(operation, new_tables)
    return "it may block or take away; do it beside, or say why it is safe in safe_because"


def _fault_of_new(field: Any) -> str:
    if not field.null and not field.has_db_default() and not field.generated and not field.many_to_many:
        return "the version before writes rows without it; give it null=True or a db_default"
    if field.generated:
        return "it writes the whole table anew under a lock"
    if field.unique or (field.db_index and not field.remote_field):
        return "its index is built under a lock; add it with AddIndexBeside"
    if field.remote_field and (field.db_constraint or field.db_index):
        return "its constraint and index are made under a lock; db_constraint=False, db_index=False"
    return ""


def _fault_of_altered(operation: migrations.AlterField, app: str, state: Any) -> str:
    before = state.models[app, operation.model_name_lower].fields[operation.name]
    old, new = before.deconstruct(), operation.field.deconstruct()
    changed = {name for name in {*old[3], *new[3]} if old[3].get(name) != new[3].get(name)} - _WORDS
    if old[1] == new[1] and changed == {"max_length"} and _is_longer(old[3], new[3]):
        return ""
    return "it changes a column that the version before uses" if old[1] != new[1] or changed else ""


def _is_longer(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return (new.get("max_length") or 0) > (old.get("max_length") or 0)


def _fault_of_sql(operation: migrations.RunSQL, new_tables: set[str]) -> str:
    statements = [operation.sql] if isinstance(operation.sql, str) else [str(each) for each in operation.sql]
    for statement in statements:
        if statement.strip().upper().startswith("CREATE OR REPLACE FUNCTION"):
            continue
        tables = {name.lower() for name in _TABLES.findall(statement)} - {"delete", "update", "conflict"}
        if not tables or not tables <= new_tables:
            return "nobody can see whether it blocks; say why it is safe in safe_because"
    return ""
