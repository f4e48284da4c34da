"""The search engine: from a query to hits."""
