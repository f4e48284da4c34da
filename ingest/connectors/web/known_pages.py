"""Comparison of a site's present responses with the documents indexed before."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable

from ingest.connectors.errors import ListingFailed
from ingest.connectors.web.addresses import Address, parse_address

# So few pages may become equal: a site of this size is soon read again.
_FEW = 4


class KnownPages:
    """Indexed documents by address; `documents` gives (address, content hash) of each.

    A site under maintenance, or that requires a login, may answer every address with the same page, or
    redirect all to one: its responses must then not replace or delete anything.
    """

    def __init__(
        self, documents: Iterable[tuple[str | None, str]], parameters: Collection[str] | None
    ) -> None:
        self._hashes: dict[Address, set[str]] = defaultdict(set)
        for url, content_hash in documents:
            address = parse_address(url or "", parameters=parameters)
            if address is not None:
                self._hashes[address].add(content_hash)
        self._by_key = {address.key: hashes for address, hashes in self._hashes.items()}
        self._new_answers: Counter[str] = Counter()

    def addresses(self) -> list[Address]:
        """Return the documents' addresses, ordered by key."""
        return sorted(self._hashes, key=lambda address: address.key)

    def holds(self, address: Address) -> bool:
        """Return whether there is a document of this address."""
        return address.key in self._by_key

    def record(self, address: Address, answer: str, text: str = "") -> None:
        """Record the response of an address: hash and text of its content, or the target of its redirect."""
        before = self._by_key.get(address.key)
        if answer and before is not None and answer not in before:
            self._new_answers[text or answer] += 1

    def check_answers(self) -> None:
        """Raise ListingFailed when more than half of the documents' addresses have the same new response."""
        most = max(self._new_answers.values(), default=0)
        if most > max(_FEW, len(self._by_key) / 2):
            raise ListingFailed(
                f"{most} of the {len(self._by_key)} pages that were read before all show or lead to the same"
                " page now, as a site does that is closed or wants a login. Sync again when it answers as"
                " before; if it is meant to be so, delete the source and make it anew."
            )
