"""The Streamlit entry point: it only routes."""

from pathlib import Path

import streamlit as st

from ui import home, interview, library, review
from ui.guard import guarded

# A file of ours: an emoji or a named icon here would be fetched from somebody else's server.
st.set_page_config(page_title="Crosscut", page_icon=str(Path(__file__).parent / "ui" / "icon.png"), layout="centered")

with guarded():
    if session := st.query_params.get("session"):
        interview.show(session)
    elif session := st.query_params.get("review"):
        review.show(session)
    elif st.query_params.get("page") == "library":
        library.show()
    else:
        home.show()
