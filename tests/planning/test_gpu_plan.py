"""Steps are compiled for GPUs that aren't there: `make test-gpu-plan`. Nothing runs on a GPU."""

import time

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert.planning import Plan
from keras_bert.planning.compiler import (
    compile_program,
    has_compiler,
    lower_step,
    planned_devices,
    pretraining_batch,
)
from keras_bert.planning.devices import CHIPS
from keras_bert.planning.hbm_traffic import hbm_traffic

pytestmark = [
    pytest.mark.weekly,
    pytest.mark.slow,
    pytest.mark.skipif(
        keras.backend.backend() != "jax" or not has_compiler(CHIPS["h100"]),
        reason="make test-gpu-plan installs what it needs",
    ),
]
ROWS, LENGTH = 8, 128
SCORES = f"[{ROWS},2,{LENGTH},{LENGTH}]"


@pytest.fixture(autouse=True)
def mixed_bfloat16():
    keras.config.set_dtype_policy("mixed_bfloat16")
    yield
    keras.config.enable_flash_attention()
    keras.config.set_dtype_policy("float32")


def compiled(lower_prediction, card, what, packed=False, plain=False):
    """Compiles a step for a GPU; returns its text and the bytes that it moves."""
    if plain:
        keras.config.disable_flash_attention()
    backbone = keras_bert.BertBackbone(1000, 1, 2, 128, 256, attention_dropout=0.0)
    model = keras_bert.BertPretrainer(backbone)
    batch = pretraining_batch(model, ROWS, LENGTH, 20, 8 if packed else None)
    devices = planned_devices(card, CHIPS[card], 1)
    started = time.perf_counter()
    if what == "train":
        lowered = lower_step(model, devices, batch)
    else:
        lowered = lower_prediction(model, devices, batch[0])
    program, text = compile_program(lowered, CHIPS[card])
    memory, moved = program.memory_analysis(), hbm_traffic(text)
    print(
        f"{card}, {what}, {'packed' if packed else 'padded'}, {'plain' if plain else 'cuDNN'}: "
        f"{moved:.3g} bytes moved, {memory.temp_size_in_bytes / 2**20:.1f} MiB of temporaries, "
        f"{time.perf_counter() - started:.0f} s"
    )
    return text, moved


@pytest.mark.parametrize("card", ["h100", "a100"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("what", ["predict", "train"])
def test_cudnn_attention_compiles_and_writes_no_scores(card, packed, what, lower_prediction):
    text, moved = compiled(lower_prediction, card, what, packed)
    assert text.count('custom_call_target="__cudnn$fmha') == (2 if what == "train" else 1)
    assert SCORES not in text
    plain, more = compiled(lower_prediction, card, what, packed, plain=True)
    assert SCORES in plain and moved < more


def test_padded_rows_of_several_gpus_are_not_exchanged(lower_prediction):
    backbone = keras_bert.BertBackbone(1000, 1, 2, 128, 256)
    ids = np.zeros((ROWS, LENGTH), "int32")
    devices = planned_devices("h100:4", CHIPS["h100"], 4)
    lowered = lower_prediction(backbone, devices, {"token_ids": ids, "padding_mask": ids})
    _, text = compile_program(lowered, CHIPS["h100"])
    assert "__cudnn$fmha" in text and "all-" not in text and "collective-" not in text


@pytest.mark.parametrize("device", ["h100", "a100:4"])
def test_a_plan_of_gpus_has_memory_traffic_and_days(device):
    plan = Plan(device, LENGTH)
    backbone = keras_bert.BertBackbone(1000, 1, 2, 128, 256)
    step = plan.compile(keras_bert.BertPretrainer(backbone), 4 * ROWS)
    assert step.fits and step.bound == "memory" and step.cost.hbm_bytes > 1e7
    table = step.table()
    assert "1,000,000 steps" in table and "all operations" not in table


@pytest.mark.parametrize("what", ["predict", "train"])
def test_long_rows_of_modernbert_take_cudnn_or_blocks(what, lower_prediction):
    backbone = keras_bert.ModernBertBackbone(1000, 4, 2, 128, 192)  # two layers see all tokens
    model = keras_bert.BertPretrainer(backbone, next_sentence=False)
    batch = pretraining_batch(model, 2, 1024, 20, None)
    devices = planned_devices("h100", CHIPS["h100"], 1)
    lowered = (
        lower_step(model, devices, batch)
        if what == "train"
        else lower_prediction(model, devices, batch[0])
    )
    _, text = compile_program(lowered, CHIPS["h100"])
    assert text.count('custom_call_target="__cudnn$fmha') == (4 if what == "train" else 2)
    assert ",64,192]" in text and "1024,1024" not in text
