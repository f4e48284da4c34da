"""Leak tests; a package, so that they share one stage, which is removed after the last of them."""
