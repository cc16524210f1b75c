"""The server's edge: what is refused, limited and added before Streamlit sees a request, and how the process starts."""
