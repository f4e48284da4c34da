"""Parser of PDF: the text of each page in reading order, with page numbers."""
