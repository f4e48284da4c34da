"""What the processes of a node count, and how it is read: all of them at one address."""
