"""Archives, looked into within limits and read member by member; nothing is unpacked onto the disk."""
