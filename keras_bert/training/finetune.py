"""Fine-tuning, epoch by epoch, that keeps the best and goes on where it stopped."""

import json
import os

import keras

from keras_bert.files.checkpoint_folder import local_folder
from keras_bert.training.checkpointing import TrainingCheckpoint, rank
from keras_bert.training.processes import is_chief, wait_for_all


def finetune(
    model,
    output,
    *,
    epochs,
    batches,
    predict,
    score,
    select,
    keep=None,
    patience=None,
    accumulation_steps=1,
    callbacks=(),
):
    """Trains a task for some epochs, scores it after each, and keeps the best epoch's model.

    In `output` stand the preset `best`, the scores of each epoch, `scores.json`, checkpoints, and
    `logs` for TensorBoard. Called again with the same arguments, it goes on behind the last
    epoch that was finished. Where several processes train together, each calls it, and the first
    writes.

    Args:
        model: a compiled `BertTask`. Another Keras model is kept as `best.keras`.
        output: a folder, for this run alone.
        epochs: int.
        batches: a function of an epoch's number, from 0, that gives the batches to learn from, a
            `tf.data.Dataset` whose length is known.
        predict: a function that answers the development set with the model as it is.
        score: a function of what `predict` gave, that gives a dict of floats. What is not a float,
            such as the scores of each class, is kept in `scores.json` only.
        select: str, the score by which an epoch is best; the higher, the better. Of equal ones
            the first is kept.
        keep: a function of what `predict` gave, called whenever the model was the best and has
            been saved, for instance to write its predictions beside it; or None. Of several
            processes only the first calls it, so that it can't use the model.
        patience: int, epochs without a better score after which training stops; or None.
        accumulation_steps: int, as of `BertTask.fit`.
        callbacks: Keras callbacks.

    Returns:
        A list of the dicts of scores, one for each epoch that was trained.

    Raises:
        ValueError: if there are fewer epochs than 1, the length of the batches isn't known,
            `score` gives none named `select`, or the folder isn't on this machine or holds a run
            of other settings.

    Example:
    ```python
    scores = finetune(
        model,
        "output",
        epochs=3,
        batches=lambda epoch: text_dataset(texts, labels, seed=epoch, shuffle=True, **settings),
        predict=lambda: model.predict(dev_texts).argmax(axis=1),
        score=lambda predicted: classification_scores(dev_labels, predicted),
        select="accuracy",
    )
    ```
    """
    if epochs < 1 or (patience is not None and patience < 1):
        raise ValueError(
            f"epochs and patience must be at least 1; got epochs={epochs}, patience={patience}."
        )
    arguments = _fit_arguments(model, accumulation_steps)
    output = local_folder(output)
    kept = output / ("best" if hasattr(model, "save_to_preset") else "best.keras")
    checkpoint = TrainingCheckpoint(output / "checkpoints")
    first = batches(0)
    scores = _read_scores(output, checkpoint.restore(model), _num_steps(first))
    if scores:
        print(f"{len(scores)} of {epochs} epochs are done.")
    boards = []
    if is_chief(model):
        boards.append(keras.callbacks.TensorBoard(output / "logs", write_graph=False))
    for epoch in range(len(scores), epochs):
        if _is_exhausted(scores, select, patience):
            print(f"No better {select} in {patience} epochs: stopped early.")
            break
        model.fit(
            batches(epoch) if epoch else first,
            initial_epoch=epoch,
            epochs=epoch + 1,
            shuffle=False,  # the dataset is shuffled already
            callbacks=[*boards, *callbacks],
            **arguments,
        )
        predictions = predict()
        scores.append(score(predictions))
        if select not in scores[-1]:
            raise ValueError(
                f"There is no score {select!r} to choose an epoch by; score gave "
                f"{', '.join(scores[-1])}."
            )
        print(f"epoch {epoch + 1}:", _said(scores[-1]), flush=True)
        if _best(scores, select) == epoch:
            _save(model, kept)
            if keep is not None and is_chief(model):
                keep(predictions)
        if is_chief(model):
            _write_scores(output, scores)
        checkpoint.save(model)
    checkpoint.wait()
    best = _best(scores, select)
    print(f"Best epoch by {select}: {best + 1} of {len(scores)}, {_said(scores[best])}")
    print(f"Its model is {kept}; the scores of all epochs are beside it.")
    return scores


def _fit_arguments(model, accumulation_steps):
    if hasattr(model, "accumulation_steps"):
        return {"accumulation_steps": accumulation_steps}
    if accumulation_steps != 1:
        raise ValueError(
            f"accumulation_steps={accumulation_steps} is for tasks of this library; the model is "
            f"a {type(model).__name__}. Leave it out."
        )
    return {}


def _save(model, path):
    if hasattr(model, "save_to_preset"):
        model.save_to_preset(path)
        return
    if is_chief(model):
        unfinished = path.with_name(f".unfinished-{path.name}")
        model.save(unfinished)
        os.replace(unfinished, path)
    wait_for_all("the best model", model)


def _num_steps(dataset):
    steps = int(dataset.cardinality())
    if steps < 1:
        raise ValueError(
            "batches(epoch) must give a dataset of known length, at least one batch; its "
            f"cardinality is {steps}. Say it with dataset.apply(tf.data.experimental"
            ".assert_cardinality(n))."
        )
    return steps


def _read_scores(output, step, steps_per_epoch):
    """The scores of the epochs that a checkpoint is behind."""
    if not step:
        return []
    path = output / "scores.json"
    scores = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    done = step // steps_per_epoch
    if step % steps_per_epoch or len(scores) < done:
        raise ValueError(
            f"{output} holds a run of other settings: its checkpoint is at step {step}, an epoch "
            f"here has {steps_per_epoch} steps, and there are scores of {len(scores)} epochs. Go "
            "on with those settings, or give this run a folder of its own."
        )
    return scores[:done]


def _write_scores(output, scores):
    unfinished = output / ".scores.json.unfinished"
    unfinished.write_text(json.dumps(scores, indent=1) + "\n", encoding="utf-8")
    os.replace(unfinished, output / "scores.json")


def _best(scores, select):
    """The first of the best epochs."""
    return max(range(len(scores)), key=lambda epoch: rank(scores[epoch][select]))


def _is_exhausted(scores, select, patience):
    return bool(patience and scores) and len(scores) - 1 - _best(scores, select) >= patience


def _said(scores):
    floats = {name: value for name, value in scores.items() if isinstance(value, (int, float))}
    return ", ".join(f"{name} {value:.4g}" for name, value in floats.items())
