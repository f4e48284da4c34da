"""Who is answered next when more is asked than can be answered at once, and who is told to come again."""
