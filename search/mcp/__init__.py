"""MCP server: a workspace's tools and resources for agents, over standard input and output or HTTP at `/mcp`.

request → caller → tool → arguments → the functions behind the HTTP API → text within a token budget
"""
