"""Collection of what each app adds to the shared parts of Kebab, such as tabs or checks, once per process.

An app names its `kebab.extension.Extension` in `AppConfig.extension` by a dotted path. The shared parts ask
for theirs, such as the tabs of a workspace or the checks of `kebab doctor`, in the order of INSTALLED_APPS.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from django.apps import apps
from django.utils.module_loading import import_string

#: A row of a section of `kebab status`, made of JSON values; all rows of a section have the same keys.
Row = Mapping[str, object]


def lazy(path: str) -> Callable[..., Any]:
    """Return a function that imports the one with this dotted path when it is called, to keep starts fast."""

    def call(*arguments: Any, **options: Any) -> Any:
        return import_string(path)(*arguments, **options)

    return call


@cache
def extensions() -> tuple[Any, ...]:
    """Return the extensions of all apps."""
    paths: Iterator[str | None] = (getattr(config, "extension", None) for config in apps.get_app_configs())
    return tuple(import_string(path) for path in paths if path is not None)


def contributions(kind: str) -> tuple[Any, ...]:
    """Return the contributions of all apps to one field of `Extension`; none until all apps are ready."""
    if not apps.ready:
        return ()
    return tuple(each for extension in extensions() for each in getattr(extension, kind))
