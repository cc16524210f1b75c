"""What pyproject.toml can't say: the sample library, a folder beside the package, is installed inside it."""

from setuptools import find_packages, setup

setup(packages=[*find_packages(include=["crag", "crag.*"]), "crag.samples"], package_dir={"crag.samples": "samples"})
