"""What pyproject.toml can't say: where a folder of the clone lies in the package.

The app is installed as the folder `crag_explorer`, as it is in the clone: Streamlit runs `app.py` there, and puts that
folder on the path, so that `ui` and `pages` are no names of their own beside other people's packages.
"""

from setuptools import find_packages, setup

APP = [f"crag_explorer.{name}" for name in find_packages(include=["ui", "ui.*"])]

setup(
    script_name="setup.py",  # which is no module of the app, however the build calls it
    packages=[*find_packages(include=["crag", "crag.*"]), "crag.samples", "crag_explorer", "crag_explorer.pages", *APP],
    package_dir={
        "crag.samples": "samples",
        "crag_explorer": ".",
        "crag_explorer.pages": "pages",
        "crag_explorer.ui": "ui",
    },
)
