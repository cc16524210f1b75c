"""What a page of the app says, for assertions."""

from streamlit.testing.v1 import AppTest


def said(app: AppTest) -> str:
    """Everything the page says, tags and all."""
    html = [element.proto.body.replace("&#x27;", "'") for element in app.get("html")]
    text = [*app.markdown, *app.error, *app.warning, *app.success, *app.caption, *app.title, *app.subheader]
    return "\n".join([*html, *(str(element.value) for element in text)])
