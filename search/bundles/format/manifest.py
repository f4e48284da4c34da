"""What a bundle says of itself, first of all."""

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
    Json,
    Moment,
    Text,
    Texts,
    Whole,
    hash_text,
    packed_json,
    read_json,
    said,
    taken,
)

_WRITE = "INSERT INTO bundle_manifest (name, value) VALUES ('manifest', ?), ('digest', ?)"
_READ = "SELECT name, value FROM bundle_manifest WHERE length(value) <= ? ORDER BY name"
_SECTION: Fields = {"rows": Whole(), "digest": hash_text()}
_FIELDS: Fields = {
    "format": Whole(least=FORMAT, most=FORMAT),
    "kebab": Text(most=100),
    "made_at": Moment(),
    "slug": Text(most=63),
    "name": Text(most=200),
    "corpus_id": Id(),
    "seq": Whole(most=MAX_COUNT),
    "documents": Whole(),
    "chunks": Whole(),
    "vectors": Whole(),
    "blobs_missing": Whole(),
    "index_file_version": Whole(),
    "index_versions": Texts(most=500),
    "sections": Json(type_=dict),
}
#: What has a digest: every section, and the index.
DIGESTED = (*SECTIONS, "index")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A bundle's manifest."""

    format: int
    #: The release that wrote it.
    kebab: str
    made_at: datetime
    slug: str
    name: str
    corpus_id: uuid.UUID
    #: The number of the latest change that is in it.
    seq: int
    documents: int
    chunks: int
    #: Over all spaces.
    vectors: int
    #: Contents of documents that were not there any more.
    blobs_missing: int
    #: Of the mirror's tables in it: another release may not read them.
    index_file_version: int
    #: As searches name them: lexical, then that of each space.
    index_versions: tuple[str, ...]
    #: By section, and `index`: how many rows it has, and the BLAKE3 of them.
    sections: Mapping[str, Mapping[str, Any]]

    def rows_of(self, section: str) -> int:
        """Return how many rows a section has."""
        return int(self.sections[section]["rows"])

    def digest_of(self, section: str) -> str:
        """Return the BLAKE3 of a section's rows."""
        return str(self.sections[section]["digest"])


def write_manifest(connection: apsw.Connection, manifest: Manifest) -> None:
    """Put the manifest, and the BLAKE3 of its bytes, into a bundle."""
    body = packed_json(said(_FIELDS, asdict(manifest)))
    connection.execute(_WRITE, (body, blake3(body).hexdigest().encode()))


def manifest_digest(manifest: Manifest) -> str:
    """Return what stands for the bundle as a whole, 64 hex digits."""
    return blake3(packed_json(said(_FIELDS, asdict(manifest)))).hexdigest()


def read_manifest(connection: apsw.Connection) -> Manifest:
    """Return the manifest. Raises BundleDamaged, BundleRefused."""
    rows = dict(connection.execute(_READ, (MAX_MANIFEST_BYTES,)))
    body, digest = rows.get("manifest", b""), rows.get("digest", b"")
    if len(rows) != 2 or blake3(body).hexdigest().encode() != digest:
        raise BundleDamaged("The manifest is not what was written. Copy the bundle again.")
    try:
        values = taken(_FIELDS, read_json(body))
        if values["sections"].keys() != set(DIGESTED):
            raise ValueError("sections: not those of this format")
        sections = {name: taken(_SECTION, each) for name, each in values["sections"].items()}
    except ValueError as error:
        raise BundleRefused(f"The manifest is refused: {error}.") from error
    values["index_versions"] = tuple(values["index_versions"])
    return Manifest(**{**values, "sections": sections})
