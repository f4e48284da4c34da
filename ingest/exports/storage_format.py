"""Confluence's storage format as HTML; Atlassian's page "Confluence Storage Format" describes it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape, unescape
from typing import Final
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

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
