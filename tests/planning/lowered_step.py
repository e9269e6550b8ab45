"""Compares the planned step with the one that `fit` compiles, and checks its communication.

Run by `test_plan.py`.
"""

import re

import jax
import keras
import numpy as np

import keras_bert
from keras_bert.planning.compiler import lower_step, pretraining_batch
from keras_bert.training import jax_loop

ROWS, LENGTH, PREDICTIONS = 8, 16, 4
COLLECTIVE = (
    r" = (.*) (all-(?:reduce|gather|to-all)|collective-[a-z]+|reduce-scatter|send|recv)[a-z-]*\("
)
# The partitioner decides on communication; optimizing machine code only takes time.
QUICKLY = {"xla_backend_optimization_level": 0}


class StopHere(Exception):
    pass


def make_model():
    keras.utils.set_random_seed(1)
    backbone = keras_bert.BertBackbone(50, 1, 2, 16, 32, max_sequence_length=LENGTH)
    return keras_bert.BertPretrainer(backbone)


def text_of_fit(parts):
    """Returns the text of the program that `fit` would compile."""
    compiled, found = jax_loop.compiled, []

    def record(steps, state_shardings):
        def function(*arguments):
            found.append(compiled(steps, state_shardings).lower(*arguments).as_text())
            raise StopHere

        return function

    tokens, slots = np.ones((ROWS, LENGTH), "int32"), np.ones((ROWS, PREDICTIONS), "int32")
    x = {name: tokens for name in ("token_ids", "segment_ids", "padding_mask")}
    x["mask_positions"] = slots
    y = {"masked_lm": slots, "next_sentence": slots[:, 0]}
    weights = {name: values.astype("float32") for name, values in y.items()}
    jax_loop.compiled = record
    try:
        with keras_bert.get_strategy("auto").scope():
            model = make_model()
            model.compile(**model.default_compile_args())  # without the schedule of a bare fit
            options = {"batch_size": ROWS, "accumulation_steps": parts}
            model.fit(x, y, sample_weight=weights, verbose=0, **options)
    except StopHere:
        return found[0]
    finally:
        jax_loop.compiled = compiled
        keras.distribution.set_distribution(None)


def main():
    keras.config.set_dtype_policy("mixed_bfloat16")
    assert len(jax.devices()) == 2
    for parts in (1, 2):
        expected = text_of_fit(parts)
        model = make_model()
        model.accumulation_steps = parts
        batch = pretraining_batch(model, ROWS, LENGTH, PREDICTIONS)
        lowered = lower_step(model, jax.devices(), batch)
        planned = lowered.as_text()
        assert "bf16" in planned and planned.count("stablehlo.while") >= parts - 1
        pairs = zip(planned.splitlines(), expected.splitlines(), strict=False)
        for number, (one, other) in enumerate(pairs):
            assert one == other, f"line {number}\nplanned: {one}\nof fit:  {other}"
        assert planned == expected
        found = re.findall(COLLECTIVE, lowered.compile(QUICKLY).as_text())
        assert {kind for _, kind in found} == {"all-reduce"}, found
        assert not any(re.search(r"\[\d+,\d+,", shape) for shape, _ in found), found  # no rows
    print("the same")


if __name__ == "__main__":
    main()
