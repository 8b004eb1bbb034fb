"""Three sample tasks without AI: a first look, and a check that burnish works on this machine."""
