"""Pages of documents as pictures, for people to look at."""
