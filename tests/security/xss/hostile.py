"""Text that would run if a page took it for markup, for every text that people and files can bring in."""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db import DatabaseError, models, transaction

#: The variable that every piece sets when it runs.
MARK = "__xss"
_LONG = (
    f"\"'><svg onload=window.{MARK}=1><script>window.{MARK}=2</script>"
    f"<img src=x onerror=window.{MARK}=3></title></textarea></script><script>window.{MARK}=4</script>"
    f'<a href="javascript:window.{MARK}=5">go</a>{{{{7*7}}}}{{% now %}}${{window.{MARK}=6}}`'
    f'" autofocus onfocus=window.{MARK}=7 x-data x-init="window.{MARK}=8" :style="window.{MARK}=9" y="'
    f"\u202egnp.exe\u202c\u2028\u0001\x1b[31m <!-- ]]> <iframe srcdoc='<script>parent.{MARK}=1</script>'>"
)
_SHORTER = f'"><img src=x onerror={MARK}=1>'
_SHORTEST = '"><b onclick=1>'
ADDRESS = f"javascript:window.{MARK}=5//"

# Names set by programs only, or with a format that the database or an address requires.
_UNCHANGED = {
    *("password", "slug", "prefix", "library_id", "content_hash", "mime", "media", "blob", "lang"),
    *("source_revision", "model", "revision", "config_hash", "table_name", "key_hash", "session_key"),
}
# JSON keys that programs branch on.
_UNCHANGED_KEYS = {"kind"}
_APPS = ("people", "search", "ingest", "kebab_api", "api", "webhooks")
# Rows that can't be updated are created hostile.
_FINAL = {"people.AuditEvent"}
# Rows of each model to make hostile.
_ROWS = 20


def hostile(limit: int | None = None) -> str:
    """Return the worst text of at most `limit` characters."""
    return next(
        text for text in (_LONG, _SHORTER, _SHORTEST, "<s>", "<") if limit is None or len(text) <= limit
    )


def poison() -> set[str]:
    """Put hostile text into every text of all our rows that the database accepts; return the fields."""
    return {
        f"{model._meta.label}.{field.name}"
        for model in apps.get_models()
        if model._meta.app_label in _APPS and model._meta.label not in _FINAL
        for field in _texts(model)
        if sum(_is_poisoned(row, number, field) for number, row in enumerate(_rows(model)))
    }


def _rows(model: Any) -> list[Any]:
    return list(model._default_manager.order_by("pk")[:_ROWS])


def _texts(model: Any) -> Iterator[Any]:
    for field in model._meta.concrete_fields:
        holds = field.base_field if isinstance(field, ArrayField) else field
        is_text = isinstance(holds, models.CharField | models.TextField | models.JSONField)
        if is_text and not field.choices and not field.primary_key and field.name not in _UNCHANGED:
            yield field


def _is_poisoned(row: Any, number: int, field: Any) -> bool:
    original = getattr(row, field.name)
    value = _value(field, original, number)
    try:
        with transaction.atomic():
            rows = type(row)._default_manager.filter(pk=row.pk)
            return value != original and bool(rows.update(**{field.name: value}))
    except DatabaseError:  # rejected by a database constraint, so nobody can store it
        return False


def _value(field: Any, original: Any, number: int) -> Any:
    if isinstance(field, ArrayField):
        return [hostile(getattr(field.base_field, "max_length", None))]
    if isinstance(field, models.JSONField):
        return _poison_json(original)
    if isinstance(field, models.EmailField):
        return f'"<img src=x onerror={MARK}=1>{number}"@example.org'
    ending = f" {number}"  # some fields are unique
    return hostile(field.max_length and field.max_length - len(ending)) + ending


def _poison_json(original: Any) -> Any:
    """Return JSON of the same shape with hostile texts, and additional hostile keys."""
    if isinstance(original, str):
        return hostile()
    if isinstance(original, list):
        return [_poison_json(each) for each in original or [""]]
    if isinstance(original, dict):
        found = {
            name: each if name in _UNCHANGED_KEYS else _poison_json(each) for name, each in original.items()
        }
        return {**found, hostile(): next(iter(found.values()), hostile()), "url": ADDRESS}
    return original
