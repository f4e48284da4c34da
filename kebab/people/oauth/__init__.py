"""OAuth 2.1 for MCP clients of others, which people connect to their workspaces.

registration → consent of a person → code → personal token, renewed by refresh tokens, until it is revoked
"""
