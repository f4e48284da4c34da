"""Safe rendering of Markdown, one stretch of lines at a time, with the cited lines marked."""
