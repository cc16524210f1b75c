"""What a page of the app says, for assertions, and clicks on what it draws."""

from streamlit.testing.v1 import AppTest


def said(app: AppTest) -> str:
    """Everything the page says, tags and all."""
    html = [element.proto.body.replace("&#x27;", "'") for element in app.get("html")]
    text = [*app.markdown, *app.error, *app.warning, *app.success, *app.caption, *app.title, *app.subheader]
    return "\n".join([*html, *(str(element.value) for element in text)])


def pick(app: AppTest, what: str) -> AppTest:
    """A click on what is drawn with this data-pick, as the browser tells of it; the page was shown before."""
    app.session_state["picked-clicks"].take([[app.session_state["picked-clicks"].heard + 1, what]])
    return app.run()
