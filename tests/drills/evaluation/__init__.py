"""Do searches find what a name in code is? A list of names with where each is documented, and the asking."""
