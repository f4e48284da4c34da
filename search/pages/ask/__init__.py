"""Pages of questions and answers."""
