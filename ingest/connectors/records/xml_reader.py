"""Parsing of XML from servers: without entities, document types and files."""

from typing import Any, Final

from ingest.connectors.errors import ListingFailed

# Elements and attributes, with texts of their own they take up to 240 bytes of memory each.
_MAX_NODES: Final = 1_500_000


def parse_xml(content: bytes, host: str, root_name: str) -> Any:
    """Return the root element. Raises ListingFailed if its name, in any namespace, is not `root_name`."""
    refuse_many_nodes(content, host)
    from lxml import etree  # type: ignore[import-untyped]  # lxml has no types

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise ListingFailed(f"{host} does not answer with XML: {error.msg}.") from error
    if root.getroottree().docinfo.doctype:
        raise ListingFailed(f"{host} answers XML with a document type, which is not read.")
    if (name := etree.QName(root).localname) != root_name:
        raise ListingFailed(f"{host} answers XML with <{name[:100]}> in place of <{root_name}>.")
    return root


def refuse_many_nodes(content: bytes, host: str) -> None:
    """Raise ListingFailed for XML with more elements and attributes than may be parsed."""
    elements = content.count(b"<") - content.count(b"</")
    if elements + content.count(b"=") > _MAX_NODES:
        raise ListingFailed(f"{host} answers XML of more than {_MAX_NODES:,} elements and attributes.")
