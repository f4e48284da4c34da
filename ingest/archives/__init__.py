"""Archives: listed within limits and read member by member; nothing is unpacked to disk."""
