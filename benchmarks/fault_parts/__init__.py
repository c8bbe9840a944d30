"""Writers, and what is done to them."""
