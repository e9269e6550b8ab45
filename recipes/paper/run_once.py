"""Runs of scripts, each until it has succeeded once."""

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from keras_bert.files.json_files import read_json, write_json


def run_once(
    script: str | os.PathLike,
    arguments: Sequence,
    output: str | os.PathLike,
    part: str = "",
    dry_run: bool = False,
) -> None:
    """Runs a script in a process of its own, unless it has already succeeded.

    The command is printed before it runs. Its output is appended to OUTPUT.log, and OUTPUT.json
    says that it has succeeded, and with which arguments: `arguments` and `--output`. `part` tells
    the files of several runs with one output apart.
    """
    script = Path(script)
    command = [script.name, *map(str, arguments), "--output", str(output)]
    finished, log = Path(f"{output}{part}.json"), Path(f"{output}{part}.log")
    if finished.exists():
        if read_json(finished, list) != command:
            raise ValueError(
                f"{output} is the result of other settings, which {finished} lists. Give another "
                "--output, or remove both to run this step again."
            )
        return
    shown = os.path.join(script.parent.name, script.name)
    print(shlex.join(["python", shown, *command[1:]]), flush=True)
    if dry_run:
        return
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8") as file:
        process = [sys.executable, script, *command[1:]]
        status = subprocess.run(process, stdout=file, stderr=subprocess.STDOUT).returncode
    if status:
        raise ValueError(f"This command failed with status {status}. Its output is {log}.")
    write_json(finished, command, indent=None)
