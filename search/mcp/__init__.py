"""MCP: what agents ask of a workspace, over standard input and output or over HTTP at `/mcp`.

request → who asks → tool → arguments → the functions behind the HTTP API → text within a budget of tokens
"""
