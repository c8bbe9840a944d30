"""Deep clusterings: each is its loss, its phases and its parameters."""
