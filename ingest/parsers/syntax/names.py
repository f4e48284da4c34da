"""Names of definitions."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

#: characters of a name; a longer one (of an operator, a template) is cut
NAME_CHARS = 80
#: fields of nodes that hold a definition's name, the first found wins
_FIELDS = ("name", "left", "property", "key", "operator")


def name_of(node: "Node", content: bytes) -> str:
    """Return the name of a definition as code has it: `run`, `A::run`, `Server.Serve`, `Trait for Type`."""
    if node.type == "impl_item":
        return " for ".join(_field_texts(node, content, "trait", "type"))
    receiver = node.child_by_field_name("receiver")
    if receiver is not None:
        return ".".join([_receiver_type(receiver, content), *_field_texts(node, content, "name")])
    for field in _FIELDS:
        named = node.child_by_field_name(field)
        if named is not None:
            return _text(named, content)
    return _text(_innermost_declarator(node), content)


def _innermost_declarator(node: "Node") -> "Node":
    """Return the innermost declarator of C and C++: `run` of `static int *run(void)`."""
    while True:
        inner = node.child_by_field_name("declarator")
        if inner is None and node.type in ("reference_declarator", "parenthesized_declarator"):
            inner = node.named_child(node.named_child_count - 1)
        if inner is None:
            return node
        node = inner


def _receiver_type(receiver: "Node", content: bytes) -> str:
    """Return the type of a receiver of Go: `Server` of `(s *Server[T])`."""
    declared = _text(receiver, content).strip("()").split()
    return declared[-1].lstrip("*").partition("[")[0] if declared else ""


def _field_texts(node: "Node", content: bytes, *fields: str) -> list[str]:
    found = (node.child_by_field_name(field) for field in fields)
    return [_text(each, content) for each in found if each is not None]


def _text(node: "Node", content: bytes) -> str:
    """Return the text of a node with single spaces, none around `>`, which separates breadcrumb parts."""
    start = node.start_byte
    text = content[start : min(node.end_byte, start + 4 * NAME_CHARS)].decode(errors="ignore")
    return " ".join(text.split()).replace(" > ", ">")[:NAME_CHARS].strip()
