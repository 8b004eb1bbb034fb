"""The main job on a sample repository, without any AI: for a first look, and to see whether burnish works here."""
