"""The manifest of a bundle: origin, counts and digests of its sections."""

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import apsw
from blake3 import blake3

from search.bundles.errors import BundleDamaged, BundleRefused
from search.bundles.format.layout import FORMAT, MAX_MANIFEST_BYTES, SECTIONS
from search.bundles.format.values import (
    MAX_COUNT,
    Fields,
    Id,
    Integer,
    Json,
    Text,
    Texts,
    Timestamp,
    canonical_json,
    hash_text,
    read_json,
    row_from_json,
    row_to_json,
)

_WRITE = "INSERT INTO bundle_manifest (name, value) VALUES ('manifest', ?), ('digest', ?)"
_READ = "SELECT name, value FROM bundle_manifest WHERE length(value) <= ? ORDER BY name"
_SECTION: Fields = {"rows": Integer(), "digest": hash_text()}
_FIELDS: Fields = {
    "format": Integer(least=FORMAT, most=FORMAT),
    "kebab": Text(most=100),
    "made_at": Timestamp(),
    "slug": Text(most=63),
    "name": Text(most=200),
    "corpus_id": Id(),
    "seq": Integer(most=MAX_COUNT),
    "documents": Integer(),
    "chunks": Integer(),
    "vectors": Integer(),
    "blobs_missing": Integer(),
    "index_file_version": Integer(),
    "index_versions": Texts(most=500),
    "sections": Json(type_=dict),
}
#: Names in the manifest's `sections`: every section, and the index.
DIGESTED_SECTIONS = (*SECTIONS, "index")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A bundle's manifest."""

    format: int
    #: The release of Kebab that wrote it.
    kebab: str
    made_at: datetime
    slug: str
    name: str
    corpus_id: uuid.UUID
    #: Sequence number of its latest change.
    seq: int
    documents: int
    chunks: int
    #: Number of vectors in all spaces.
    vectors: int
    #: Number of documents' blobs that were missing.
    blobs_missing: int
    #: Version of its mirror tables, which another release may not read.
    index_file_version: int
    #: Versions as named in search results: lexical, then one for each space.
    index_versions: tuple[str, ...]
    #: Number of rows and their BLAKE3, by section and `index`.
    sections: Mapping[str, Mapping[str, Any]]

    def row_count(self, section: str) -> int:
        """Return the number of rows of a section."""
        return int(self.sections[section]["rows"])

    def section_digest(self, section: str) -> str:
        """Return the BLAKE3 of a section's rows."""
        return str(self.sections[section]["digest"])


def write_manifest(connection: apsw.Connection, manifest: Manifest) -> None:
    """Write the manifest, and the BLAKE3 of its bytes, to a bundle."""
    body = canonical_json(row_to_json(_FIELDS, asdict(manifest)))
    connection.execute(_WRITE, (body, blake3(body).hexdigest().encode()))


def manifest_digest(manifest: Manifest) -> str:
    """Return the digest that identifies the bundle as a whole, 64 hex digits."""
    return blake3(canonical_json(row_to_json(_FIELDS, asdict(manifest)))).hexdigest()


def read_manifest(connection: apsw.Connection) -> Manifest:
    """Read the manifest. Raises BundleDamaged, BundleRefused."""
    rows = dict(connection.execute(_READ, (MAX_MANIFEST_BYTES,)))
    body, digest = rows.get("manifest", b""), rows.get("digest", b"")
    if len(rows) != 2 or blake3(body).hexdigest().encode() != digest:
        raise BundleDamaged("The manifest is not what was written. Copy the bundle again.")
    try:
        values = row_from_json(_FIELDS, read_json(body))
        if values["sections"].keys() != set(DIGESTED_SECTIONS):
            raise ValueError("sections: not those of this format")
        sections = {name: row_from_json(_SECTION, each) for name, each in values["sections"].items()}
    except ValueError as error:
        raise BundleRefused(f"The manifest is refused: {error}.") from error
    values["index_versions"] = tuple(values["index_versions"])
    return Manifest(**{**values, "sections": sections})
