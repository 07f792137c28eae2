"""One frozen session, several diagnosticians."""
