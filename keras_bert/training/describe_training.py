"""Description of a training run, with checks that it is possible."""

import keras

from keras_bert.messages import check_int
from keras_bert.training.processes import process_count
from keras_bert.training.strategy import Strategy, device_kind


def describe_training(
    strategy: Strategy, batch_size: int | None, model: keras.Model, accumulation_steps: int = 1
) -> str:
    """Checks the devices and settings of a training run, and describes them in one line.

    `batch_size` is None if batches differ in rows, as with `tokens_per_batch`.

    >>> from keras_bert import BertBackbone, BertClassifier, get_strategy, sizes
    >>> model = BertClassifier(BertBackbone(vocabulary_size=100, **sizes.tiny), num_classes=3)
    >>> model.compile(**model.default_compile_args())
    >>> describe_training(get_strategy("single"), 32, model)  # doctest: +ELLIPSIS
    '1 replica on ...; batches of 32 rows, 32 a replica; float32; 1 step per execution; XLA ...'
    """
    check_int("accumulation_steps", accumulation_steps)  # parts may differ by a row
    replicas = strategy.num_replicas_in_sync
    rows = "batches of any size"
    if batch_size is not None:
        if batch_size < 1 or batch_size % replicas:
            raise ValueError(
                f"A batch of {batch_size} rows can't be split evenly among "
                f"{_counted(replicas, 'replica')}: choose a multiple of {replicas}, for instance "
                f"{max(1, -(-batch_size // replicas)) * replicas}."
            )
        rows = f"batches of {batch_size} rows, {batch_size // replicas} a replica"
    _check_scope(strategy, model)
    processes = f" in {process_count()} processes" if process_count() > 1 else ""
    parts = f" in {accumulation_steps} parts" if accumulation_steps > 1 else ""
    return (
        f"{_counted(replicas, 'replica')} on {device_kind()}{processes}; {rows}{parts}; "
        f"{model.dtype_policy.name}; {_counted(model.steps_per_execution, 'step')} per execution; "
        f"XLA {'on' if model.jit_compile else 'off'}"
    )


def _check_scope(strategy, model):
    backend = keras.backend.backend()
    if backend == "torch":
        return
    holds = strategy.holds if backend == "jax" else strategy.extended.variable_created_in_scope
    outside = [weight.path for weight in model.weights if not holds(weight.value)]
    if backend == "tensorflow" and model.distribute_strategy is not strategy:
        outside.append(model.name)  # its layers may have been created in the scope
    if outside:
        raise ValueError(
            f"{outside[0]!r} of the model was created outside the strategy's scope. Create the "
            "backbone and the model, and compile it, in `with strategy.scope():`."
        )


def _counted(count, noun):
    return f"{count} {noun}{'' if count == 1 else 's'}"
