"""Batch runs: patients × models × modes × repeats as cells, held by workers, measured, and put into tables."""
