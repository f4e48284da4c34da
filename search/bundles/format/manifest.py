"""The manifest of a bundle: origin, counts and digests of its sections."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal

import apsw
from blake3 import blake3
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from search.bundles.errors import BundleDamaged, BundleRefused
from search.bundles.format.layout import MAX_MANIFEST_BYTES, SECTIONS
from search.bundles.format.values import (
    MAX_COUNT,
    STRICT,
    HashText,
    Id,
    StorableText,
    Timestamp,
    canonical_json,
    describe,
)

_WRITE = "INSERT INTO bundle_manifest (name, value) VALUES ('manifest', ?), ('digest', ?)"
_READ = "SELECT name, value FROM bundle_manifest WHERE length(value) <= ? ORDER BY name"
#: Names in the manifest's `sections`: every section, and the index that bundles of releases up to 0.3 have.
DIGESTED_SECTIONS = (*SECTIONS, "index")

_Count = Annotated[int, Field(ge=0, lt=2**63)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionDigest:
    """The number of rows of a section, and their BLAKE3."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    rows: _Count
    digest: HashText


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A bundle's manifest."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    format: Literal[1]
    #: The release of Kebab that wrote it.
    kebab: Annotated[StorableText, Field(max_length=100)]
    made_at: Timestamp
    slug: Annotated[StorableText, Field(max_length=63)]
    name: Annotated[StorableText, Field(max_length=200)]
    corpus_id: Id
    #: Sequence number of its latest change.
    seq: Annotated[int, Field(ge=0, le=MAX_COUNT)]
    documents: _Count
    chunks: _Count
    #: Number of vectors in all spaces.
    vectors: _Count
    #: Number of documents' blobs that were missing.
    blobs_missing: _Count
    #: By section and `index`.
    sections: dict[str, SectionDigest]
    # About the index of bundles of releases up to 0.3, which need all three to import one.
    index_file_version: _Count = 0
    index_versions: tuple[Annotated[StorableText, Field(max_length=500)], ...] = ()


_ADAPTER: Final = TypeAdapter(Manifest)


def write_manifest(connection: apsw.Connection, manifest: Manifest) -> None:
    """Write the manifest, and the BLAKE3 of its bytes, to a bundle."""
    body = _to_bytes(manifest)
    connection.execute(_WRITE, (body, blake3(body).hexdigest().encode()))


def manifest_digest(manifest: Manifest) -> str:
    """Return the digest that identifies the bundle as a whole, 64 hex digits."""
    return blake3(_to_bytes(manifest)).hexdigest()


def read_manifest(connection: apsw.Connection) -> Manifest:
    """Read the manifest. Raises BundleDamaged, BundleRefused."""
    rows = dict(connection.execute(_READ, (MAX_MANIFEST_BYTES,)))
    body, digest = rows.get("manifest", b""), rows.get("digest", b"")
    if len(rows) != 2 or blake3(body).hexdigest().encode() != digest:
        raise BundleDamaged("The manifest is not what was written. Copy the bundle again.")
    try:
        manifest = _ADAPTER.validate_json(body)
    except ValidationError as error:
        raise BundleRefused(f"The manifest is refused: {describe(error)}.") from error
    if manifest.sections.keys() != set(DIGESTED_SECTIONS):
        raise BundleRefused("The manifest is refused: its sections differ from this format's.")
    return manifest


def _to_bytes(manifest: Manifest) -> bytes:
    return canonical_json(_ADAPTER.dump_python(manifest, mode="json"))
