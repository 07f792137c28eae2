"""The embedded MiniLM, read from an installed wheel: its word pieces, their vectors and its six layers."""
