"""Carries `recipes/` in the package as `keras_bert.recipes`; pyproject.toml holds all the rest."""

from setuptools import find_packages, setup

recipes = ["recipes", *find_packages(include=["recipes.*"])]
setup(
    packages=[*find_packages(include=["keras_bert*"]), *(f"keras_bert.{name}" for name in recipes)],
    package_dir={"keras_bert.recipes": "recipes"},
)
