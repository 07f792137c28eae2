"""LangGraph graphs, their typed state, and the runtime that runs a turn exactly once."""
