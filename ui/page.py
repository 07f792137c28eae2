"""The script that draws each page: it only routes."""

from pathlib import Path

import streamlit as st

from ui import routes
from ui.guard import guarded

# A file of ours: an emoji or a named icon here would be fetched from somebody else's server.
_ICON = str(Path(__file__).parent / "icon.png")
_STYLE = Path(__file__).parent / "style.css"

token = routes.patient_token()
st.set_page_config(page_title="Crosscut", page_icon=_ICON, layout="centered" if token is not None else "wide")
st.html(_STYLE)
with guarded():
    if token is not None:
        routes.show_patient(token)
    else:
        routes.show_workbench()
