"""Programs for those who work on burnish; none of them is part of it."""
