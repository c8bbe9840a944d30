"""Generated inputs: what is changed, how, and who has to read it."""
