"""Canonical instruments as data files with typed loaders, and the profile they fill."""
