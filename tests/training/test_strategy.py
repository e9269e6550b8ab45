import contextlib
import json
import socket
from concurrent.futures import ThreadPoolExecutor

import keras
import pytest

from keras_bert import BertBackbone, BertClassifier
from keras_bert.training import strategy as strategy_module
from keras_bert.training.describe_training import describe_training
from keras_bert.training.strategy import get_strategy
from tests.marks import on, with_package


def make_backbone():
    return BertBackbone(40, 1, 2, 8, 16)


def make_model(backbone=None):
    model = BertClassifier(backbone or make_backbone(), num_classes=2)
    model.compile(**model.default_compile_args())
    return model


@on("tensorflow")
def test_mirrored_takes_what_there_is(tensorflow, refused):
    strategy = get_strategy("mirrored")
    assert isinstance(strategy, tensorflow.distribute.MirroredStrategy)
    gpus = len(tensorflow.config.list_logical_devices("GPU"))
    assert strategy.num_replicas_in_sync == max(1, gpus)
    if not gpus:
        assert get_strategy("auto", devices=1) is get_strategy("single", devices=1)
        refused(
            "'auto', which is 'single' here, takes one device",
            get_strategy,
            "auto",
            devices=2,
        )


@on("tensorflow")
def test_an_address_that_refuses_or_stays_silent_is_told(monkeypatch, free_addresses, refused):
    monkeypatch.setattr(strategy_module, "_SECONDS_TO_ANSWER", 0.2)  # in place of ten
    with socket.create_server(("127.0.0.1", 0)) as silent:
        addresses = (*free_addresses(1), f"127.0.0.1:{silent.getsockname()[1]}")
        for name, address in zip(("auto", "tpu"), addresses, strict=True):
            address = f"grpc://{address}"
            message = f"Nothing answers at '{address}' within 0.2 s"
            refused(message, get_strategy, name, address=address)


@on("tensorflow")
def test_a_server_of_grpc_answers():
    import grpc  # TensorFlow requires it

    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        strategy_module._check_answers(f"grpc://127.0.0.1:{port}")
    finally:
        server.stop(None)


@on("tensorflow")
def test_what_there_is_not_and_what_has_no_use_is_told(monkeypatch, refused):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    for name, options, message in (
        ("tpu", {}, "'local'.*'mirrored' or 'single'"),
        ("multiworker", {}, "TF_CONFIG"),
        ("mirrored", {"devices": 99}, "devices must be at"),
        ("single", {"devices": 4}, "'single'.* devices=4.*'mirrored'"),
        ("tpu", {"devices": 1}, "'tpu'.* devices=1"),
        ("single", {"address": "local"}, "'single'.*'local'.*'tpu'"),
    ):
        refused(message, get_strategy, name, **options)


@on("tensorflow")
def test_a_multiworker_strategy_that_comes_late_is_told(monkeypatch, refused, free_addresses):
    keras.ops.ones(1)
    cluster = {"worker": free_addresses(1)}
    task = {"type": "worker", "index": 0}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
    refused("must be the first line of the program", get_strategy, "multiworker")


@on("tensorflow")
def test_machines_that_tf_config_doesnt_list_are_told(monkeypatch, refused):
    cluster = {"chief": ["first:0"], "worker": ["here:1", "there:2"]}
    for config in (
        '{"cluster": {',
        json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 2}}),
    ):
        monkeypatch.setenv("TF_CONFIG", config)
        for name in ("auto", "multiworker"):
            refused("TF_CONFIG, such as .*index of the list; got", get_strategy, name)
    monkeypatch.setenv(
        "TF_CONFIG",
        json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 1}}),
    )
    assert strategy_module._cluster() == (["first:0", "here:1", "there:2"], "there:2")
    for workers, name in ((cluster["worker"], "multiworker"), (["here:1"], "single")):
        config = {"cluster": {"worker": workers}, "task": {"type": "worker", "index": 0}}
        monkeypatch.setenv("TF_CONFIG", json.dumps(config))
        assert strategy_module._resolved_auto(None) == name


@on("torch")
def test_pytorch_trains_on_one_device(refused):
    for name in ("auto", "single"):
        assert get_strategy(name).num_replicas_in_sync == 1
    for name in ("mirrored", "multiworker", "tpu"):
        refused(f"'auto', 'single'; got {name!r}.*PyTorch", get_strategy, name)
    refused("'single' here, takes one device; got devices=2", get_strategy, "auto", devices=2)
    refused(
        "'auto' doesn't accept a TPU address",
        get_strategy,
        "auto",
        address="grpc://nowhere",
    )


def test_an_unknown_name_and_parts_that_are_no_number_are_told(refused):
    refused("strategy must be one of 'auto'.*got 'gpus'", get_strategy, "gpus")
    for steps in (0, -1, 1.5):
        message = f"accumulation_steps.*got {steps}"
        refused(message, describe_training, Two(), 8, None, accumulation_steps=steps)
    refused("batch of 0 rows", describe_training, Two(), 0, None)


class Two:
    num_replicas_in_sync = 2


@on("tensorflow", "jax")
def test_what_training_uses_is_said():
    model = make_model(BertBackbone(30, 1, 2, 16, 32, dtype="mixed_bfloat16"))
    said = describe_training(get_strategy("single"), 8, model, accumulation_steps=2)
    assert said.startswith("1 replica on ")
    assert "; batches of 8 rows, 8 a replica in 2 parts; mixed_bfloat16; 1 step per" in said
    for is_on, word in ((True, "on"), (False, "off")):
        model.compile("sgd", jit_compile=is_on)
        said = describe_training(get_strategy("single"), None, model)
        assert "; batches of any size; " in said and said.endswith(f"XLA {word}")


@on("tensorflow")
def test_a_batch_that_does_not_divide_or_a_model_outside_of_the_scope_is_told(refused):
    strategy, backbone, outside = get_strategy("mirrored"), make_backbone(), make_model()
    with strategy.scope():
        inside, half = make_model(), make_model(backbone)
    wrapped = keras.Model(inside.input, inside.output)  # of layers that were made in the scope
    wrapped.compile(**inside.default_compile_args())
    for scope in (strategy.scope(), contextlib.nullcontext()):
        with scope:
            assert "8 rows" in describe_training(strategy, 8, inside)
            for model in (outside, half):
                message = "/token_embedding/.* outside the strategy's"
                refused(message, describe_training, strategy, 8, model)
    message = f"{wrapped.name!r} of the model was created outside"
    refused(message, describe_training, strategy, 8, wrapped)
    refused(
        "outside the strategy's scope",
        describe_training,
        get_strategy("single"),
        8,
        inside,
    )
    message = "9 rows can't be split.*2 replicas.*instance 10"
    refused(message, describe_training, Two(), 9, outside, accumulation_steps=2)


ON_JAX = """
import json
import keras
import numpy as np
from keras_bert import BertBackbone, BertClassifier, get_strategy
from keras_bert.training.describe_training import describe_training

def make_backbone():
    return BertBackbone(40, 1, 2, 8, 16)

def make_model(backbone):
    model = BertClassifier(backbone, num_classes=2)
    model.compile("sgd")
    return model

def said(call, *arguments, **more):
    try:
        return str(call(*arguments, **more))
    except ValueError as error:
        return str(error)

def num_devices(model):
    model.fit({"token_ids": np.ones((4, 6), "int32")}, np.array([0, 1, 0, 1]), verbose=0)
    return [len(weight.value.devices()) for weight in model.weights]

two, one = get_strategy(), get_strategy("single")
backbone = make_backbone()
outside = make_model(make_backbone())
with two.scope():
    half, inside = make_model(backbone), make_model(make_backbone())
    results = {"outside_in_scope": said(describe_training, two, 8, outside)}
for name, model in (("outside", outside), ("half", half), ("inside", inside)):
    results[name] = said(describe_training, two, 8, model)
with one.scope():
    alone = make_model(make_backbone())
results["alone"] = said(describe_training, one, 8, alone)
results["of_two"] = said(describe_training, one, 8, inside)
results["trained"] = num_devices(alone)
with two.scope():
    results["trained_again"] = num_devices(make_model(make_backbone()))
results["address"] = said(get_strategy, address="grpc://nowhere:1")
results["devices"] = said(get_strategy, "single", devices=2)
import jax
results["on_cpu"] = jax.config.jax_compilation_cache_dir
jax.default_backend = lambda: "gpu"
get_strategy()
results["on_gpu"] = jax.config.jax_compilation_cache_dir
jax.config.update("jax_compilation_cache_dir", "elsewhere")
get_strategy()
results["given"] = jax.config.jax_compilation_cache_dir
print(json.dumps(results))
"""


@pytest.mark.slow
@with_package("jax")
def test_jax_trains_in_the_scope_and_tells_what_is_outside(run_python):
    settings = {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    settings["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"  # it compiles more than it computes here
    settings["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    results = json.loads(run_python("-c", ON_JAX, **settings).splitlines()[-1])
    for name in ("outside", "outside_in_scope", "half", "of_two"):
        assert "outside the strategy's scope" in results[name], name
    assert results["inside"].startswith("2 replicas on CPU")
    assert results["alone"].startswith("1 replica on CPU")
    assert set(results["trained"]) == {1} and set(results["trained_again"]) == {2}
    assert "doesn't accept" in results["address"]
    assert "'single' here, takes one device; got devices=2" in results["devices"]
    # Programs that take minutes to compile are kept.
    assert not results["on_cpu"] and results["given"] == "elsewhere"
    assert results["on_gpu"].endswith("/.cache/keras_bert/jax")
