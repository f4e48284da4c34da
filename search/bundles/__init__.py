"""Bundles: a workspace as one file, written by `export`, verified and read by `import`."""
