"""What is recorded of the library, so that two versions of it can be compared."""
