"""Import of a bundle into a new workspace."""
