"""Parsers of structured text: JSON, CSV, notebooks, transcripts."""
