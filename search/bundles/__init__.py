"""A workspace as one file: written by `export`, checked and brought in by `import`, searched as it lies."""
