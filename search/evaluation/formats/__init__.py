"""File formats of topics, judgements and runs, one module each.

Writers are the inverse of their readers. All readers raise InvalidJudgedSet with file, line and remedy.
"""
