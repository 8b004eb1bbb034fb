"""What other tools write, read as ours; what we know, written as theirs."""
