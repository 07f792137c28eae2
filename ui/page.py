"""The script that draws each page: it only routes."""

from base64 import b64encode
from pathlib import Path

import streamlit as st

from ui import routes
from ui.guard import guarded

# A picture of ours: an emoji or a named icon would be fetched from somebody else's server. Within the page: Streamlit
# may let go of a file between two runs, just when a browser asks for it.
_ICON = f"data:image/png;base64,{b64encode((Path(__file__).parent / 'icon.png').read_bytes()).decode()}"
_STYLE = Path(__file__).parent / "style.css"

token = routes.patient_token()
st.set_page_config(page_title="Crosscut", page_icon=_ICON, layout="centered" if token is not None else "wide")
st.html(_STYLE)
with guarded():
    if token is not None:
        routes.show_patient(token)
    else:
        routes.show_workbench()
