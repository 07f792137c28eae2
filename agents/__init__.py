"""Agents: typed input, typed output, a model engine and a rules engine behind one contract."""
