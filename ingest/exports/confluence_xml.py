"""Confluence's XML export of a space: its current pages and posts as HTML, attachments by their names.

The file `entities.xml` is Hibernate's dump of the objects; their classes and properties are those of
Confluence's data model as its documentation for developers lists them.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape, unescape
from io import BytesIO
from typing import Final
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, ParseError, iterparse

from ingest.exports.types import PlainExport, link_to, meta_elements

_AC, _RI = "{ac}", "{ri}"
_ENTITY: Final = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z]\w{1,31});")
_CODE: Final = frozenset({"code", "noformat"})
_BLOCKS: Final = frozenset(
    {"p", "div", "ul", "ol", "li", "tr", "table", "pre", "h1", "h2", "h3", "h4", "h5", "h6"}
)
#: elements that readers don't see
_HIDDEN: Final = frozenset({"parameter", "task-id", "task-uuid", "emoticon", "placeholder", "adf-attribute"})
_TAGS: Final = {
    "task-list": "ul",
    "task": "li",
    **dict.fromkeys(("task-body", "inline-comment-marker", "link-body"), "span"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Targets of links: addresses of pages by title and of files by name, names of people by key."""

    page: Callable[[str], str | None]
    files: Mapping[str, str]
    people: Mapping[str, str]


def to_html(body: str, targets: Targets) -> str:
    """Return the HTML of a body in storage format; macros are their texts. Raises ParseError."""
    readable = _ENTITY.sub(lambda found: escape(unescape(found[0])), body)
    # Expat bounds the growth by entities.
    root = ElementTree.fromstring(f'<div xmlns:ac="ac" xmlns:ri="ri">{readable}</div>')  # noqa: S314
    for element in list(root.iter()):
        _convert(element, targets)
        for name in [name for name in element.attrib if name.startswith("{")]:
            del element.attrib[name]
        if element.tag in _BLOCKS:  # a line each, by which they are cited
            element.tail = f"{element.tail or ''}\n"
    return ElementTree.tostring(root, encoding="unicode", method="html")


def _convert(element: Element, targets: Targets) -> None:
    kind = element.tag.removeprefix(_AC)
    if element.tag == "time":
        _replace(element, "span", element.get("datetime", ""))
    elif kind == element.tag:
        if kind.startswith(_RI):
            element.tag = "span"
    elif kind == "link":
        _convert_link(element, targets)
    elif kind == "image":
        file, url = _reference(element, "attachment", "filename"), _reference(element, "url", "value")
        _replace(element, "img", "", src=targets.files.get(file, url), alt=element.get(f"{_AC}alt", file))
    elif kind in ("structured-macro", "macro"):
        _convert_macro(element)
    elif kind == "task-status":
        _replace(element, "span", "Done: " if element.text == "complete" else "")
    elif kind in _HIDDEN:
        _replace(element, "span", "")
    else:
        element.tag = _TAGS.get(kind, "div")
        element.attrib.clear()


def _convert_link(link: Element, targets: Targets) -> None:
    body = next(
        (each for each in link if each.tag in (f"{_AC}plain-text-link-body", f"{_AC}link-body")), None
    )
    label = " ".join("".join(body.itertext()).split()) if body is not None else ""
    title, file = _reference(link, "page", "content-title"), _reference(link, "attachment", "filename")
    person = _reference(link, "user", "userkey") or _reference(link, "user", "account-id")
    address = targets.page(title) if title else targets.files.get(file)
    text = label or title or file or (f"@{targets.people.get(person, person)}" if person else "")
    if address is None:
        _replace(link, "span", text)
    else:
        anchor = link.get(f"{_AC}anchor")
        _replace(link, "a", text, href=f"{address}#{anchor}" if anchor else address)


def _convert_macro(macro: Element) -> None:
    parameters = {each.get(f"{_AC}name"): each.text or "" for each in macro.findall(f"{_AC}parameter")}
    if macro.get(f"{_AC}name") in _CODE:
        text = "".join(each.text or "" for each in macro.findall(f"{_AC}plain-text-body"))
        _replace(macro, "pre", "")
        code = Element("code", {"class": f"language-{parameters.get('language') or 'text'}"})
        code.text = text
        macro.append(code)
    else:
        macro.tag = "div"
        macro.attrib.clear()
        if parameters.get("title"):
            title = Element("strong")
            title.text = parameters["title"]
            macro.insert(0, title)


def _reference(element: Element, kind: str, name: str) -> str:
    found = element.find(f"{_RI}{kind}")
    return "" if found is None else found.get(f"{_RI}{name}", "")


def _replace(element: Element, tag: str, text: str, **attributes: str) -> None:
    tail = element.tail
    element.clear()
    element.tag, element.text, element.tail = tag, text, tail
    for name, value in attributes.items():
        if value:
            element.set(name, value)


_ENTITIES: Final = "entities.xml"
_DESCRIPTOR: Final = "exportDescriptor.properties"
_FILE: Final = re.compile(r"attachments/(\d+)/(\d+)/(\d+)")
_UNSAFE: Final = re.compile(r'[\x00-\x1f/\\#?%*:|"<>\s]+')
_MAX_NAME_CHARS: Final = 100
_STORAGE: Final = "2"

#: property or reference of an object by name; `id` is its own
Properties = dict[str, str]


@dataclass(slots=True)
class _Objects:
    """The objects of an export that documents are made of, by id."""

    pages: dict[str, Properties] = field(default_factory=dict)
    bodies: dict[str, str] = field(default_factory=dict)
    people: dict[str, str] = field(default_factory=dict)
    full_names: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    labels_of: dict[str, list[str]] = field(default_factory=dict)
    files: dict[str, Properties] = field(default_factory=dict)

    def add(self, kind: str, found: Properties) -> None:
        """Add an object of a class."""
        key = found.get("id", "")
        match kind:
            case "Page" | "BlogPost":
                self.pages[key] = found
            case "BodyContent" if found.get("bodyType", _STORAGE) == _STORAGE:
                # CDATA can't hold its own end mark, which is written with a blank.
                self.bodies[found.get("content", "")] = found.get("body", "").replace("]] >", "]]>")
            case "ConfluenceUserImpl":
                self.people[key] = found.get("displayName") or found.get("name") or ""
            case "InternalUser" if "displayName" in found:
                self.full_names[found.get("name", "")] = found["displayName"]
            case "Label":
                self.labels[key] = found.get("name", "")
            case "Labelling":
                self.labels_of.setdefault(found.get("content", ""), []).append(found.get("label", ""))
            case "Attachment":
                self.files[key] = found

    def person(self, key: str) -> str:
        """Return the name of a person, '' if it is not in the export."""
        name = self.people.get(key, "")
        return self.full_names.get(name, name)


class ConfluenceXml(PlainExport):
    """The dump of a space with its attachments, which are stored by ids."""

    index_files = (_ENTITIES,)

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(paths)
        self._objects = _Objects()
        self._places: dict[str, str] = {}
        self._pages: dict[str, str] = {}

    @staticmethod
    def find_roots(paths: Sequence[str]) -> Iterator[str]:
        """Yield the folders with a dump and its descriptor."""
        known = frozenset(paths)
        for path in paths:
            if posixpath.basename(path) == _ENTITIES:
                root = path.removesuffix(_ENTITIES)
                if root + _DESCRIPTOR in known:
                    yield root

    def read_index(self, path: str, content: bytes) -> None:
        """Read the objects. Raises ValueError."""
        try:
            for kind, found in _objects(content):
                self._objects.add(kind, found)
        except ParseError as error:
            raise ValueError("entities.xml is broken") from error
        current = {key: each for key, each in self._objects.pages.items() if _is_current(each)}
        self._objects.pages = current
        self._pages = {key: f"{_name(each.get('title', ''))}_{key}.html" for key, each in current.items()}
        for file in self.paths:
            stored = _FILE.fullmatch(file)
            stated = self._objects.files.get(stored[2]) if stored else None
            if (
                stored
                and stated
                and _is_current(stated)
                and stored[3] == (stated.get("version") or stated.get("attachmentVersion") or "1")
            ):
                self._places[file] = f"attachments/{stored[1]}/{_name(_file_name(stated))}"

    def document_path(self, path: str) -> str | None:
        """Return the place of an attachment by its name; None for earlier versions and all other files."""
        return self._places.get(path)

    def documents(self) -> Iterator[tuple[str, bytes]]:
        """Yield the current pages and posts."""
        by_title = {each.get("title", ""): self._pages[key] for key, each in self._objects.pages.items()}
        files: dict[str, dict[str, str]] = {}
        for file, place in self._places.items():
            key, name = file.split("/")[1], _file_name(self._objects.files[file.split("/")[2]])
            files.setdefault(key, {})[name] = link_to("", place)
        people = {key: self._objects.person(key) or key for key in self._objects.people}
        for key, page in self._objects.pages.items():
            find = partial(_address, by_title)
            targets = Targets(page=find, files=files.get(key, {}), people=people)
            yield self._pages[key], self._page(key, page, targets).encode()

    def _page(self, key: str, page: Properties, targets: Targets) -> str:
        objects = self._objects
        fields = {
            "author": objects.person(page.get("creator", "")),
            "created": page.get("creationDate", ""),
            "modified": page.get("lastModificationDate", ""),
            "tags": list(filter(None, (objects.labels.get(each) for each in objects.labels_of.get(key, ())))),
        }
        title, body = escape(page.get("title", "")), _html(objects.bodies.get(key, ""), targets)
        head = f'<meta charset="utf-8"><title>{title}</title>{meta_elements(fields)}'
        return f"<!DOCTYPE html>\n<html><head>{head}</head>\n<body><h1>{title}</h1>\n{body}\n</body></html>\n"


def _objects(content: bytes) -> Iterator[tuple[str, Properties]]:
    """Yield class and properties of each object, whose element is freed. Raises ParseError."""
    root: Element | None = None
    # Expat bounds the growth by entities.
    for event, element in iterparse(BytesIO(content), events=("start", "end")):  # noqa: S314
        root = element if root is None else root
        if event == "end" and element.tag == "object":
            yield element.get("class", ""), _properties(element)
            root.clear()


def _properties(element: Element) -> Properties:
    found: Properties = {}
    for child in element:
        if child.tag == "id":
            found["id"] = child.text or ""
        elif child.tag == "property":
            inner = child.find("id")
            found[child.get("name", "")] = (child.text if inner is None else inner.text) or ""
    return found


def _is_current(found: Properties) -> bool:
    return found.get("contentStatus", "current") == "current" and not found.get("originalVersion")


def _file_name(found: Properties) -> str:
    return found.get("title") or found.get("fileName") or "attachment"


def _name(title: str) -> str:
    return _UNSAFE.sub("-", title).strip("-.")[:_MAX_NAME_CHARS] or "page"


def _address(by_title: dict[str, str], title: str) -> str | None:
    return link_to("", by_title[title]) if title in by_title else None


def _html(body: str, targets: Targets) -> str:
    try:
        return to_html(body, targets)
    except (ParseError, RecursionError):
        return f"<pre>{escape(body)}</pre>"
