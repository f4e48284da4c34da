"""Sources presented as documentation libraries: found by name, asked for snippets, written out for tools."""
