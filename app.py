"""What `streamlit run` serves: the page's script, and the document that each of its addresses begins with."""

from pathlib import Path

import streamlit as st

from ui.document import documents

app = st.App(Path(__file__).parent / "ui" / "page.py", routes=documents())
