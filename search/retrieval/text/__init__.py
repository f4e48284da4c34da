"""Text: snippets, scripts, cleaning."""
