"""Documents of a source by folder."""

from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Count, F, Func, Q, TextField, Value
from django.db.models.functions import Substr

from kebab.database.natural_order import NaturalKey
from kebab.identity.caller import Access
from search.access.querysets import visible_documents
from search.models import Source

#: Folders shown on one page.
SHOWN_FOLDERS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder of a source."""

    name: str
    #: With a slash at its end.
    path: str
    #: Documents in it and below.
    count: int = 0


def documents_below(access: Access, source: Source, folder: str) -> Any:
    """Return the documents of `source` below `folder`, each with its version.

    They have the `rest` of their paths, and `natural_path` to sort them by.
    """
    documents = visible_documents(access.workspace, access.reader).filter(source=source)
    below = documents.filter(path__startswith=folder).annotate(
        rest=Substr("path", len(folder) + 1), natural_path=NaturalKey("path")
    )
    return below.select_related("source", "version")


def directly_in(below: Any) -> Any:
    """Return those of `documents_below` that are in no folder further down."""
    return below.exclude(rest__contains="/")


def match_documents(below: Any, text: str) -> Any:
    """Return those of `documents_below` with `text` in their path or title."""
    return below.filter(Q(path__icontains=text) | Q(title__icontains=text))


def list_folders(below: Any, folder: str) -> list[Folder]:
    """Return the folders directly in `folder`, by name, SHOWN_FOLDERS at most."""
    name = Func(F("rest"), Value("/"), Value(1), function="split_part", output_field=TextField())
    named = below.filter(rest__contains="/").annotate(name=name).order_by().values("name")
    rows = named.annotate(count=Count("pk")).order_by(NaturalKey("name"), "name")[:SHOWN_FOLDERS]
    return [Folder(name=row["name"], path=f"{folder}{row['name']}/", count=row["count"]) for row in rows]


def crumbs(folder: str) -> list[Folder]:
    """Return the folders on the way to `folder`, itself included."""
    names = [name for name in folder.split("/") if name]
    return [Folder(name=name, path="/".join(names[: number + 1]) + "/") for number, name in enumerate(names)]
