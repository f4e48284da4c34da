"""The file format of bundles: layout, seal, reading and writing."""
