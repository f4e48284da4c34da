"""What the verbs of search print and look up."""
