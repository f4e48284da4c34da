"""The definitions and statements of source files, by tree-sitter's syntax trees."""
