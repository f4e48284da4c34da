"""PDF: the text of each page in reading order, with the pages it stands on."""
