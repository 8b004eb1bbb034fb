"""The Model Context Protocol: tools with which agents read tasks and ask for work. None of them decides."""
