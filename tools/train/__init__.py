"""Trains the readers beside the rules: `pip install -e '.[train]'`, then `python -m tools.train risk` or `scorer`.

They learn from the tuning lines under tests/data, never from the report lines.
"""
