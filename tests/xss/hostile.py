"""Text that would run if a page took it for markup, in every text that people and files can bring in."""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db import connection, models, transaction

#: What every piece sets when it runs.
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

# Names that a program gives and a person can't; or whose form the database or an address depends on.
_KEPT = {
    *("password", "slug", "prefix", "library_id", "content_hash", "mime", "media", "blob", "tag", "lang"),
    *("source_revision", "model", "revision", "config_hash", "table_name", "key_hash", "session_key"),
}
_APPS = ("people", "search", "ingest", "kebab_api", "api")


def hostile(limit: int | None = None) -> str:
    """Give the worst text of at most so many characters."""
    return next(
        text for text in (_LONG, _SHORTER, _SHORTEST, "<s>", "<") if limit is None or len(text) <= limit
    )


def poison() -> set[str]:
    """Put hostile text into every text of every row of ours, as far as the database takes it; give where."""
    return {
        f"{model._meta.label}.{field.name}"
        for model in apps.get_models()
        if model._meta.app_label in _APPS
        for field in _texts(model)
        if _is_poisoned(model, field)
    }


def _texts(model: Any) -> Iterator[Any]:
    for field in model._meta.concrete_fields:
        is_text = isinstance(field, models.CharField | models.TextField | models.JSONField | ArrayField)
        if is_text and not field.choices and not field.primary_key and field.name not in _KEPT:
            yield field


def _is_poisoned(model: Any, field: Any) -> bool:
    done = False
    for row in model._default_manager.all()[:20]:
        try:
            with transaction.atomic():
                rows = model._default_manager.filter(pk=row.pk)
                done |= bool(rows.update(**{field.name: _value(field, row)}))
        except Exception:  # noqa: BLE001 - a check of the database refuses it: nobody can store it either
            connection.needs_rollback = False
    return done


def _value(field: Any, row: Any) -> Any:
    if isinstance(field, ArrayField):
        return [hostile(getattr(field.base_field, "max_length", None))]
    if isinstance(field, models.JSONField):
        kept = getattr(row, field.name)
        added = {hostile(): hostile(), "url": ADDRESS}
        return {**kept, **added} if isinstance(kept, dict) else kept
    if isinstance(field, models.EmailField):
        return f'"<img src=x onerror={MARK}=1>{row.pk}"@example.org'
    text = hostile(field.max_length)
    return (f"{text}{row.pk}" if field.unique else text)[: field.max_length]
