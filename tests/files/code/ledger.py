"""A ledger of accounts with double-entry booking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import no_type_check

CENT = Decimal("0.01")


class LedgerError(Exception):
    """A booking that the ledger does not take."""


class UnknownAccount(LedgerError):
    """The account was never opened."""


# What an entry looks like in the exported file.
# Columns are fixed: tools of the tax office read them.
@dataclass(frozen=True)
class Entry:
    """One side of a booking."""

    account: str
    amount: Decimal
    booked_on: date
    text: str = ""


@dataclass
class Ledger:
    """All entries of one year, in the order in which they were booked.

    Amounts are in the ledger's currency; a debit is positive, a credit negative, and the amounts
    of each booking add up to zero.
    """

    year: int
    accounts: dict[str, str] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)

    def open_account(self, number: str, name: str) -> None:
        """Opens an account, or renames one that is open."""
        self.accounts[number] = name

    def name_of(self, number: str) -> str:
        return self.accounts[number]

    @property
    def is_empty(self) -> bool:
        return not self.entries

    # Both sides are checked before either is written:
    # a ledger never holds half a booking.
    def book(self, debit: str, credit: str, amount: Decimal, *, booked_on: date, text: str = "") -> None:
        """Books `amount` from `credit` to `debit`.

        Raises:
            UnknownAccount: one of the accounts was never opened.
            LedgerError: the amount has fractions of a cent, is not positive, or the date lies in
                another year.
        """
        for number in (debit, credit):
            if number not in self.accounts:
                raise UnknownAccount(f"Account {number} was never opened; open it first.")
        if amount <= 0 or amount != amount.quantize(CENT):
            raise LedgerError(f"{amount} is no amount; give a positive number of whole cents.")
        if booked_on.year != self.year:
            raise LedgerError(f"{booked_on} lies outside {self.year}; book it in that year's ledger.")
        self.entries.append(Entry(account=debit, amount=amount, booked_on=booked_on, text=text))
        self.entries.append(Entry(account=credit, amount=-amount, booked_on=booked_on, text=text))

    @no_type_check
    def balance(self, number: str) -> Decimal:
        """Sum of all entries of an account."""
        return sum((each.amount for each in self.entries if each.account == number), Decimal(0))

    class Report:
        """The year as a table."""

        WIDTH = 72

        def __init__(self, ledger: Ledger) -> None:
            self.ledger = ledger

        def lines(self) -> Iterator[str]:
            """One line an account, by number, and a last one with the sum."""
            total = Decimal(0)
            for number, name in sorted(self.ledger.accounts.items()):
                balance = self.ledger.balance(number)
                total += balance
                yield f"{number:<8}{name:<{self.WIDTH - 24}}{balance:>16.2f}"
            yield f"{'':<{self.WIDTH - 16}}{total:>16.2f}"


def read_entries(lines: Iterable[str]) -> Iterator[Entry]:
    """Entries of an exported file, without its header and its blank lines.

    A line has the date, the account, the amount and a text, apart from one another by semicolons.
    The text may hold semicolons itself. Amounts are written with a comma or a point.
    """
    for number, line in enumerate(lines, start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        parts = stripped.split(";", 3)
        if len(parts) < 3:
            raise LedgerError(f"Line {number} has {len(parts)} columns instead of three or four.")
        try:
            booked_on = date.fromisoformat(parts[0])
        except ValueError as error:
            raise LedgerError(f"Line {number}: {parts[0]!r} is no date; write 2024-12-31.") from error
        # The office writes 1.234,50; the bank writes 1234.50.
        amount = parts[2].strip()
        if "," in amount:
            amount = amount.replace(".", "").replace(",", ".")
        try:
            value = Decimal(amount)
        except ArithmeticError as error:
            raise LedgerError(f"Line {number}: {parts[2]!r} is no amount; write 12.50.") from error
        if value != value.quantize(CENT):
            raise LedgerError(f"Line {number}: {parts[2]!r} has fractions of a cent.")
        text = parts[3].strip() if len(parts) > 3 else ""
        yield Entry(account=parts[1].strip(), amount=value, booked_on=booked_on, text=text)


async def main() -> None:
    ledger = Ledger(year=2024)
    ledger.open_account("1000", "Cash")


if __name__ == "__main__":
    import asyncio

    asyncio.run(main())
