"""Runs of scripts, each until it has succeeded once."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path


def run_once(
    script: str | os.PathLike,
    arguments: str,
    output: str | os.PathLike,
    part: str = "",
    dry_run: bool = False,
) -> None:
    """Runs a script in a process of its own, unless it has already succeeded.

    The command is printed before it runs. Its output is appended to OUTPUT.log, and OUTPUT.json
    says that it has succeeded, and with which arguments.

    Args:
        script: the script, a path.
        arguments: its arguments, as in a shell, without `--output`.
        output: its `--output`, a path.
        part: str, in the names of both files, if several runs have the same output.
        dry_run: bool, whether only to print the command.

    Raises:
        ValueError: if the script fails, or has succeeded with other arguments.

    Example:
    >>> run_once("recipes/pretrain_tpu.py", "--corpus novels", "bert", dry_run=True)
    python recipes/pretrain_tpu.py --corpus novels --output bert
    """
    script = Path(script)
    command = [script.name, *shlex.split(arguments), "--output", str(output)]
    finished, log = Path(f"{output}{part}.json"), Path(f"{output}{part}.log")
    if finished.exists():
        if json.loads(finished.read_text(encoding="utf-8")) != command:
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
    finished.write_text(json.dumps(command) + "\n", encoding="utf-8")
