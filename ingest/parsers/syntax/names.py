"""What a definition is called."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

#: characters of a name; of a longer one (an operator's, a template's) the start
NAME_CHARS = 80
#: where a name stands in nodes that have no field for it
_FIELDS = ("name", "left", "property", "key", "operator")


def name_of(node: "Node", content: bytes) -> str:
    """Return the name of a definition as code calls it: `run`, `A::run`, `Server.Serve`, `Trait for Type`."""
    if node.type == "impl_item":
        return " for ".join(_field_texts(node, content, "trait", "type"))
    receiver = node.child_by_field_name("receiver")
    if receiver is not None:
        return ".".join([_receiver_type(receiver, content), *_field_texts(node, content, "name")])
    for field in _FIELDS:
        named = node.child_by_field_name(field)
        if named is not None:
            return _text(named, content)
    return _text(_declared(node), content)


def _declared(node: "Node") -> "Node":
    """Return the innermost declarator of C and C++: of `static int *run(void)` that is `run`."""
    while True:
        inner = node.child_by_field_name("declarator")
        if inner is None and node.type in ("reference_declarator", "parenthesized_declarator"):
            inner = node.named_child(node.named_child_count - 1)
        if inner is None:
            return node
        node = inner


def _receiver_type(receiver: "Node", content: bytes) -> str:
    """Of Go's `(s *Server[T])` that is `Server`."""
    declared = _text(receiver, content).strip("()").split()
    return declared[-1].lstrip("*").partition("[")[0] if declared else ""


def _field_texts(node: "Node", content: bytes, *fields: str) -> list[str]:
    found = (node.child_by_field_name(field) for field in fields)
    return [_text(each, content) for each in found if each is not None]


def _text(node: "Node", content: bytes) -> str:
    """Text of a node with single spaces, and none around `>`, which stands between breadcrumbs' parts."""
    start = node.start_byte
    text = content[start : min(node.end_byte, start + 4 * NAME_CHARS)].decode(errors="ignore")
    return " ".join(text.split()).replace(" > ", ">")[:NAME_CHARS].strip()
