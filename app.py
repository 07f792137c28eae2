"""The Streamlit entry point: it only routes."""

import streamlit as st

from ui import home, interview

st.set_page_config(page_title="Crosscut", page_icon=":material/forum:", layout="centered")

session = st.query_params.get("session")
if session:
    interview.show(session)
else:
    home.show()
