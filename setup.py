"""Carries `recipes/` in the package as `keras_bert.recipes`; pyproject.toml holds all the rest."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["keras_bert*"]), "keras_bert.recipes"],
    package_dir={"keras_bert.recipes": "recipes"},
)
