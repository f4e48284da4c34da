"""Sources presented as documentation libraries: search by name, snippets, and text formats for tools."""
