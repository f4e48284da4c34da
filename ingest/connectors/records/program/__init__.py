"""The connector of programs that the operator offers, which print records as lines of JSON."""
