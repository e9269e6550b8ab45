"""Graphs that only this process runs are traced for oneDNN, and compute what others do."""

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert import kernels
from keras_bert.kernels import query_blocks
from keras_bert.kernels.onednn import layer_norm, patterns_of_onednn, takes_onednn
from keras_bert.layers.dense_and_norms import LayerNorm
from keras_bert.layers.modernbert_layers import GatedFeedForward
from keras_bert.training.keras_internals import has_onednn
from tests.marks import on

pytestmark = on("tensorflow")
ROWS = np.random.default_rng(4).normal(size=(3, 11, 8)).astype("float32")


def traced(tensorflow, layer, takes):
    """Returns a graph of any number and length of rows."""

    @tensorflow.function(input_signature=[tensorflow.TensorSpec((None, None, 8))])
    def function(x):
        with patterns_of_onednn(takes):
            return layer(x)

    return function


def kernels_of(tensorflow, layer, x):
    """Returns the operations that a session runs after TensorFlow's optimizations."""
    v1 = tensorflow.compat.v1
    with v1.Graph().as_default(), v1.Session() as session, patterns_of_onednn(True):
        given = v1.placeholder("float32", (None, None, 8))
        outputs = layer(given)
        session.run(v1.global_variables_initializer())
        metadata = v1.RunMetadata()
        options = v1.RunOptions(output_partition_graphs=True)
        session.run(outputs, {given: x}, options, metadata)
    return {node.op for graph in metadata.partition_graphs for node in graph.node}


def layers():
    """Each with the kernel of oneDNN that takes its place, and what that replaces."""
    for epsilon in (1e-12, 1e-5):
        for center in (False, True):
            norm = LayerNorm(epsilon=epsilon, center=center)
            yield norm, "_MklLayerNorm", "FusedBatchNormV3"
    yield GatedFeedForward(8, 12), "_MklNativeFusedMatMul", "Erf"


def test_layers_are_what_they_are_elsewhere(tensorflow, randomized, assert_close):
    adapted = GatedFeedForward(8, 12)
    adapted.build(ROWS.shape)
    adapted.values_and_gates.enable_lora(2)
    for layer in [adapted, *(layer for layer, _, _ in layers())]:
        layer(ROWS)
        randomized(layer)
        own, plain = (traced(tensorflow, layer, takes) for takes in (True, False))
        for x in (ROWS, ROWS * 1e-4, ROWS[:, :1], ROWS[:0]):
            assert own(x).shape == x.shape
            assert_close(own(x), plain(x))


@pytest.mark.skipif(not has_onednn(), reason="TensorFlow has no oneDNN here")
def test_tensorflow_replaces_the_patterns(tensorflow):
    for layer, wanted, replaced in layers():
        found = kernels_of(tensorflow, layer, ROWS)
        assert wanted in found and not any(replaced in kernel for kernel in found)


@pytest.mark.slow
def test_long_rows_are_computed_in_blocks_of_queries(
    tensorflow, monkeypatch, randomized, assert_close
):
    """Rows of up to 5 are whole; the others have blocks of 4 + 3, 4 + 4, 5 + 4 and 5 + 5 + 3."""
    monkeypatch.setattr(query_blocks, "LONG", 5)
    backbone = keras_bert.ModernBertBackbone(50, 4, 2, 16, 24, window=2)
    randomized(backbone)
    model = keras_bert.BertTokenClassifier(backbone, num_classes=3)
    for length in (1, 5, 7, 8, 9, 13):
        ids = np.random.default_rng(length).integers(5, 50, (3, length))
        mask = np.arange(length) < np.array([[length], [1], [length - length // 3]])
        inputs = {"token_ids": ids, "padding_mask": mask.astype("int32")}
        found = model.predict(inputs)
        assert_close(found[mask], np.asarray(model(inputs))[mask], name=f"rows of {length}")


@pytest.mark.slow
def test_only_graphs_of_this_process_have_the_patterns(tensorflow, monkeypatch, tmp_path):
    found = []

    def counted(layer, x, *_):
        found.append(x)
        return x

    table = [row._replace(compute=counted) for row in kernels.TABLE if row.compute is layer_norm]
    monkeypatch.setattr(kernels, "TABLE", table)
    model = keras_bert.BertClassifier(keras_bert.BertBackbone(50, 1, 2, 16, 24), num_classes=2)
    inputs = {name: np.ones((2, 6), "int32") for name in ("token_ids", "padding_mask")}
    model(inputs)
    keras.Model.export(model, str(tmp_path / "served"), verbose=False)
    assert not found
    model.compile("sgd")
    for verb, arguments in ((model.predict, ()), (model.evaluate, (np.array([0, 1]),))):
        found.clear()
        verb(inputs, *arguments)
        assert len(found) == (3 if has_onednn() else 0), "the embeddings and a block of two"
    assert not takes_onednn()
