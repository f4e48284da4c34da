"""Access to original documents: charset, lines, subtitles, highlighted code, PDF pages."""
