"""What pyproject.toml can't say: `keras_bert.recipes`, and links of README that work elsewhere.

`REPOSITORY_URL=https://github.com/user/name` makes README's links absolute, for a package index,
and becomes the project's URLs. Pages of the docs site read the same variable.
"""

import os
import re
import sys

from setuptools import find_packages, setup


def with_absolute_links(text, repository):
    """README's text with each link and picture of this repository as a URL."""

    def url(match):
        kind = "raw" if match[1] else "blob"
        return f"{match[1]}[{match[2]}]({repository}/{kind}/HEAD/{match[3]})"

    return re.sub(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)]+)\)", url, text)


with open("README.md", encoding="utf-8") as file:
    readme = file.read()
repository = os.environ.get("REPOSITORY_URL", "").rstrip("/")
urls = {}
if repository:
    readme = with_absolute_links(readme, repository)
    urls = {"Repository": repository, "Issues": f"{repository}/issues"}
    urls["Changelog"] = f"{repository}/blob/HEAD/CHANGELOG.md"
else:
    message = "REPOSITORY_URL is not set: README's links to files will be dead on a package index."
    print(message, file=sys.stderr)

recipes = ["recipes", *find_packages(include=["recipes.*"])]
setup(
    packages=[*find_packages(include=["keras_bert*"]), *(f"keras_bert.{name}" for name in recipes)],
    package_dir={"keras_bert.recipes": "recipes"},
    long_description=readme,
    long_description_content_type="text/markdown",
    project_urls=urls,
)
