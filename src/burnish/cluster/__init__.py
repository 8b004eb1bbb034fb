"""Many machines: branches through a git remote, and the queue of workers."""
