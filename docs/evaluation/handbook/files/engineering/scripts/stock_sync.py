"""Copy stock levels from Ledgerline to Tideboard every night."""

import csv
import sys
from pathlib import Path

import psycopg

EXPORT = Path("/srv/exchange/ledgerline/stock.csv")
MAX_DROP = 0.3


class SuspiciousExport(Exception):
    """The export has far fewer parts than the night before."""


def read_levels(path):
    """Return the quantity on hand for each part number; reserved pieces are subtracted."""
    with path.open(newline="", encoding="cp1252") as file:
        rows = csv.DictReader(file, delimiter=";")
        return {row["part"]: int(row["on_hand"]) - int(row["reserved"]) for row in rows}


def check_export(levels, known_count):
    """Raise SuspiciousExport when a third of all parts has disappeared."""
    if len(levels) < known_count * (1 - MAX_DROP):
        raise SuspiciousExport(f"{len(levels)} parts, {known_count} yesterday")


def store_levels(connection, levels):
    """Write all levels in one transaction; parts that the export lacks get zero."""
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute("UPDATE stock SET on_hand = 0")
        cursor.executemany("UPDATE stock SET on_hand = %s WHERE part = %s", [(n, part) for part, n in levels.items()])


def main():
    levels = read_levels(EXPORT)
    with psycopg.connect("service=tideboard") as connection:
        known_count = connection.execute("SELECT count(*) FROM stock WHERE on_hand > 0").fetchone()[0]
        check_export(levels, known_count)
        store_levels(connection, levels)


if __name__ == "__main__":
    sys.exit(main())
