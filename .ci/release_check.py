"""What must be true of a release: its metadata and links, and README's programs with its wheel.

    make release-check

`make dist` has built dist/. A new environment in build/release gets the wheel, and nothing of this
checkout is importable there: the tests come from the source archive, without its keras_bert/.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from email import message_from_string
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "release"
EXTRAS = "tensorflow,recipes,corpus"  # those that README names


def metadata_faults(wheel):
    """Yields what is wrong with the wheel's version, licenses and links."""
    source = (ROOT / "keras_bert" / "__init__.py").read_text("utf-8")
    version = re.search('__version__ = "(.*)"', source)[1]
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        [path] = [name for name in names if name.endswith(".dist-info/METADATA")]
        metadata = message_from_string(archive.read(path).decode("utf-8"))
    if metadata["Version"] != version:
        yield f"{wheel.name} is {metadata['Version']}, and keras_bert.__version__ {version}"
    if not re.search(rf"(?m)^## {re.escape(version)}\b.*\d{{4}}-\d\d-\d\d", read("CHANGELOG.md")):
        yield f"CHANGELOG.md has no dated section {version}"
    if not metadata["Project-URL"]:
        yield f"{wheel.name} has no address of the repository"
    for name in ("LICENSE", "NOTICE"):
        if not any(each.endswith(f"/licenses/{name}") for each in names):
            yield f"{name} is not in the wheel"
        if "the keras_bert authors" not in read(name):
            yield f"{name} has no copyright line"
    tracked = run("git", "ls-files", cwd=ROOT, capture_output=True, text=True).stdout.split()
    prose = re.sub("```.*?```", "", metadata.get_payload(), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)#]+)", prose):
        path = re.sub(r"^https://\S+?/(blob|raw)/HEAD/", "", link)
        if not path.startswith("https://") and (path == link or path not in tracked):
            yield f"README's link {link} leads nowhere"


def read(name):
    """Returns the text of a file of this checkout."""
    return (ROOT / name).read_text("utf-8")


def run(*command, **options):
    """Runs a command, and shows it."""
    print("$", shlex.join(map(str, command)), flush=True)
    return subprocess.run(command, check=True, **options)


def main():
    """Checks the files in dist/."""
    [wheel] = (ROOT / "dist").glob("*.whl")
    [archive] = (ROOT / "dist").glob("*.tar.gz")
    if faults := list(metadata_faults(wheel)):
        sys.exit("\n".join(faults))
    shutil.rmtree(FOLDER, ignore_errors=True)
    venv.create(FOLDER / "venv", with_pip=True)
    python = FOLDER / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", f"{wheel}[{EXTRAS}]", "pytest")
    with tarfile.open(archive) as file:
        file.extractall(FOLDER, filter="data")
    source = FOLDER / archive.name.removesuffix(".tar.gz")
    shutil.rmtree(source / "keras_bert")
    options = {"cwd": source, "env": {**os.environ, "KERAS_BACKEND": "tensorflow"}}
    run(python, "-m", "pytest", "-q", "tests/test_readme.py", "-k", "README.md", **options)
    blocks = re.findall(r"```bash\n(.*?)```", read("README.md"), re.DOTALL)
    for command in re.findall(r"(?m)^python .*", "".join(blocks).replace("\\\n", " ")):
        run("bash", "-c", f"{python} {command.removeprefix('python ')}", **options)
    print(f"{wheel.name} is ready.")


if __name__ == "__main__":
    main()
