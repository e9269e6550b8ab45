"""Several fine-tuning runs, of which the best is kept."""

import json
import os
import shutil

from keras_bert.files.checkpoint_folder import local_folder
from keras_bert.training.checkpointing import rank
from keras_bert.training.processes import is_chief, wait_for_all
from keras_bert.training.run_settings import keep_settings


def finetune_grid(output, runs, train, *, select, shared=None, strategy=None):
    """Fine-tunes with each of several settings, and keeps the best model of all.

    In `output` stand the best run's `best`, `best.json`, which says whose it is, `results.tsv`,
    a row for each epoch of each finished run, and a folder for each run in `runs`, whose models
    and checkpoints are removed when it is finished. Called again, it passes over finished runs
    and goes on with the one that was cut; other settings add their runs. Where several processes
    train together, each calls it, and the first writes.

    Source: Devlin et al. 2019, section 4.1 and appendix A.3: a grid of batch sizes, learning rates
    and epochs, and random restarts, chosen from on the development set.

    Args:
        output: a folder, for this grid alone.
        runs: a list of dicts, each the settings of a run, numbers or strings, all with the same
            keys.
        train: a function of a run's settings and its folder that trains it, or goes on where it
            stopped, leaves the best epoch's model in `folder / "best"`, and gives a list of dicts
            of floats, the scores of each epoch: what `finetune` does.
        select: str, the score by which a run is best; the higher, the better. Of equal ones the
            first is kept.
        shared: a dict of what all runs of the folder have in common, such as the task, for a
            later call to be checked against; or None.
        strategy: what `get_strategy` gave. Without it each worker of TensorFlow, where there are
            several, would take itself for the first.

    Returns:
        A list of dicts, the settings, `epoch` and scores of each finished run's best epoch; the
        best run first.

    Raises:
        ValueError: if there are no runs, their keys differ, the folder isn't on this machine, or
            it holds runs with other `shared`.

    Example:
    >>> import os, tempfile
    >>> def train(settings, folder):
    ...     os.makedirs(folder / "best", exist_ok=True)
    ...     return [{"accuracy": settings["rate"] * epoch} for epoch in range(3)]
    >>> results = finetune_grid(
    ...     tempfile.mkdtemp(), [{"rate": 0.1}, {"rate": 0.3}], train, select="accuracy"
    ... )
    Run 1 of 2: rate=0.1
    Run 2 of 2: rate=0.3
    >>> results[0]
    {'rate': 0.3, 'epoch': 3, 'accuracy': 0.6}
    """
    if not runs or any(list(settings) != list(runs[0]) for settings in runs):
        raise ValueError(
            "runs must be dicts of settings, at least one, all with the same keys in the same "
            f"order; got {runs}."
        )
    output = local_folder(output)
    keep_settings(output, shared or {}, strategy=strategy)
    for number, settings in enumerate(runs, 1):
        name = "-".join(f"{key}={value}" for key, value in settings.items())
        folder = output / "runs" / name
        finished = folder / "finished.json"
        is_done = finished.exists()
        print(f"Run {number} of {len(runs)}: {name}{' is done' if is_done else ''}", flush=True)
        if not is_done:
            scores = train(settings, folder)
        if is_chief(strategy):
            if not is_done:
                _keep_if_best(output, folder, {**settings, **_best(scores, select)}, select)
                _write(finished, {"settings": settings, "scores": scores})
            _write_results(output)
            for part in ("best", "checkpoints"):
                shutil.rmtree(folder / part, ignore_errors=True)
        wait_for_all(f"run {number}", strategy)
    best = [{**run["settings"], **_best(run["scores"], select)} for run in _finished(output)]
    return sorted(best, key=lambda result: rank(result[select]), reverse=True)


def _best(scores, select):
    """The number and scores of the first of the best epochs."""
    epoch = max(range(len(scores)), key=lambda epoch: rank(scores[epoch][select]))
    return {"epoch": epoch + 1, **scores[epoch]}


def _keep_if_best(output, folder, result, select):
    """Copies a run's model to `output` if it is better than all before it."""
    noted = output / "best.json"
    if noted.exists():
        before = json.loads(noted.read_text("utf-8"))[select]
        if rank(result[select]) <= rank(before):
            return
    new, old = output / ".best.unfinished", output / ".best.old"
    for path in (new, old):
        shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(folder / "best", new)
    if (output / "best").exists():
        os.rename(output / "best", old)
    os.rename(new, output / "best")
    shutil.rmtree(old, ignore_errors=True)
    _write(noted, result)


def _finished(output):
    """What is noted of each finished run, in the order in which they ended."""
    paths = (output / "runs").glob("*/finished.json")
    return [json.loads(p.read_text("utf-8")) for p in sorted(paths, key=_age_and_name)]


def _age_and_name(path):
    return path.stat().st_mtime_ns, path.parent.name


def _write_results(output):
    rows = [
        {**run["settings"], "epoch": epoch, **scores}
        for run in _finished(output)
        for epoch, scores in enumerate(run["scores"], 1)
    ]
    lines = [rows[0], *(row.values() for row in rows)]
    _write(output / "results.tsv", "".join("\t".join(map(str, line)) + "\n" for line in lines))


def _write(path, content):
    """Writes text, or anything else as JSON, whole or not at all."""
    if not isinstance(content, str):
        content = json.dumps(content, indent=1) + "\n"
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.parent.mkdir(parents=True, exist_ok=True)
    unfinished.write_text(content, encoding="utf-8")
    os.replace(unfinished, path)
