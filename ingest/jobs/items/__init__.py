"""A job's items: parse, write, count."""
