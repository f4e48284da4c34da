"""Bytes that a server may send in one act, such as a listing."""

from ingest.connectors.errors import ListingFailed


class ByteBudget:
    """The bytes that a server may still send; each document that it lists adds some."""

    def __init__(self, server: str, *, most_documents: int) -> None:
        self._server = server
        self._most_documents = most_documents
        self._spent_bytes = 0
        self._most_bytes = 0
        self._documents = 0
        self._bytes_per_document = 0

    def start(self, most_bytes: int, *, bytes_per_document: int = 0) -> None:
        """Start an act."""
        self._spent_bytes, self._documents = 0, 0
        self._most_bytes, self._bytes_per_document = most_bytes, bytes_per_document

    def spend(self, size_bytes: int) -> None:
        """Count what the server has sent. Raises ListingFailed when it is more than the act may take."""
        self._spent_bytes += size_bytes
        most_bytes = self._most_bytes + self._documents * self._bytes_per_document
        if self._spent_bytes > most_bytes:
            listed = f" for {self._documents:,} documents" if self._bytes_per_document else ""
            raise ListingFailed(
                f"{self._server} sends more than the {most_bytes:,} bytes that are read{listed}."
            )

    def earn(self, documents: int) -> None:
        """Count documents that the server has listed. Raises ListingFailed for too many."""
        self._documents += documents
        if self._documents > self._most_documents:
            raise ListingFailed(f"{self._server} lists more than {self._most_documents:,} documents.")
