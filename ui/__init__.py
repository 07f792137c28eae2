"""The Streamlit pages: one module a page. Everything shown comes from the database and the checkpoint."""
