"""What a person does in the Models tab of the Settings page: chooses, enters a key, presses a button."""

from typing import Any

from streamlit.testing.v1 import AppTest

KINDS = ("segmented_control", "selectbox", "toggle", "text_input", "number_input")


def widget(app: AppTest, name: str) -> Any:
    return next(element for kind in KINDS for element in getattr(app, kind) if element.key == f"models-{name}")


def choose(app: AppTest, **values: object) -> AppTest:
    for name, value in values.items():
        widget(app, name).set_value(value).run()
        assert not app.exception
    return app


def press(app: AppTest, name: str) -> AppTest:
    app.button(key=f"models-{name}").click().run()
    assert not app.exception
    return app


def enter(app: AppTest, key: str, slot: str = "llm") -> AppTest:
    app.text_input(key=f"models-key-{slot}").set_value(key).run()
    assert not app.exception
    return app
