"""Original documents: charset, lines, subtitles, highlighted code, PDF pages."""
