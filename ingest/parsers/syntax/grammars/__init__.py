"""Tree-sitter grammars, one module per language."""
