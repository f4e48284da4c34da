"""Bundles: a workspace as one file, written by `export`, verified by `import`, searchable in place."""
