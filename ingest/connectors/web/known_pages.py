"""The documents that a site gave before, against what their addresses answer now."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable

from ingest.connectors.errors import ListingFailed
from ingest.connectors.web.addresses import Address, read_address

# So few pages may become one: a site of this size is soon read again.
_FEW = 4


class KnownPages:
    """Documents by their addresses, `documents` being (address, content hash) of each.

    A site that is being repaired, or wants a login, may answer every address with the same page, or lead
    all of them to one: then nothing may be replaced or deleted by what it says.
    """

    def __init__(self, documents: Iterable[tuple[str | None, str]], parameters: Collection[str]) -> None:
        self._hashes: dict[Address, set[str]] = defaultdict(set)
        for url, content_hash in documents:
            address = read_address(url or "", parameters=parameters)
            if address is not None:
                self._hashes[address].add(content_hash)
        self._by_key = {address.key: hashes for address, hashes in self._hashes.items()}
        self._new_answers: Counter[str] = Counter()

    def addresses(self) -> list[Address]:
        """Return the documents' addresses, in order."""
        return sorted(self._hashes, key=lambda address: address.key)

    def note(self, address: Address, answer: str) -> None:
        """Count what stands for the whole answer of an address: a content's hash, or where it leads."""
        before = self._by_key.get(address.key)
        if answer and before is not None and answer not in before:
            self._new_answers[answer] += 1

    def check(self) -> None:
        """Raises ListingFailed when more than half of the documents' addresses give one new answer."""
        most = max(self._new_answers.values(), default=0)
        if most > max(_FEW, len(self._by_key) / 2):
            raise ListingFailed(
                f"{most} of the {len(self._by_key)} pages that were read before all show or lead to the same"
                " page now, as a site does that is closed or wants a login. Sync again when it answers as"
                " before; if it is meant to be so, delete the source and make it anew."
            )
