"""A package, so that its stack stops when the last of its tests is over."""
