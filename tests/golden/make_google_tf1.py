"""Makes google_tf1.npz: a small model that Google's own code built, wrote down and evaluated.

    git clone https://github.com/google-research/bert ../bert
    python tests/golden/make_google_tf1.py ../bert

The graph is that of `modeling.py` and `run_pretraining.py`, unchanged. They were written for
TensorFlow 1.11; the two functions that they call and TensorFlow 2 lacks, `tf.layers.dense` and
`tf.contrib.layers.layer_norm`, are written out below. Keys of the file: `config`, the text of
bert_config.json; `weight:NAME`, each variable; `input:NAME` and `output:NAME`.
"""

import json
import os
import sys
import types
from pathlib import Path

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy as np
import tensorflow

tf = tensorflow.compat.v1

CONFIG = {
    "vocab_size": 40,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 16,
    "type_vocab_size": 2,
}
LENGTHS = np.array([[12, 5], [9, 4], [3, 3]])  # of the sequences, and of their first segments
SHAPE = (3, 12)
PREDICTIONS = 4


def main(checkout):
    modeling, run_pretraining = google(checkout)
    tf.disable_eager_execution()
    generator = np.random.default_rng(20181011)
    inputs = random_inputs(generator)
    config = modeling.BertConfig.from_dict(CONFIG)
    model = modeling.BertModel(
        config,
        is_training=False,
        input_ids=tf.constant(inputs["input_ids"]),
        input_mask=tf.constant(inputs["input_mask"]),
        token_type_ids=tf.constant(inputs["segment_ids"]),
    )
    labels = tf.zeros((SHAPE[0], PREDICTIONS), tf.int32)
    *_, masked_lm = run_pretraining.get_masked_lm_output(
        config,
        model.get_sequence_output(),
        model.get_embedding_table(),
        tf.constant(inputs["masked_lm_positions"]),
        labels,
        tf.ones(labels.shape),
    )
    pooled = model.get_pooled_output()
    *_, next_sentence = run_pretraining.get_next_sentence_output(config, pooled, labels[:, 0])
    outputs = {
        "sequence_output": model.get_sequence_output(),
        "pooled_output": pooled,
        "masked_lm_log_probs": tf.reshape(masked_lm, (SHAPE[0], PREDICTIONS, -1)),
        "next_sentence_log_probs": next_sentence,
    }
    with tf.Session() as session:
        weights = {}
        for variable in tf.global_variables():
            name = variable.op.name
            # Wide enough that attention is uneven and GELU is at work on both of its sides.
            centre = 1.0 if name.endswith("gamma") else 0.0
            weights[name] = generator.normal(centre, 0.2, variable.shape).astype("float32")
            variable.load(weights[name], session)
        outputs = session.run(outputs)
    path = Path(__file__).with_name("google_tf1.npz")
    np.savez_compressed(
        path,
        config=json.dumps(config.to_dict()),
        **{f"weight:{name}": array for name, array in weights.items()},
        **{f"input:{name}": array for name, array in inputs.items()},
        **{f"output:{name}": array for name, array in outputs.items()},
    )
    print(f"{path}: {len(weights)} weights, {path.stat().st_size:,} bytes.")


def random_inputs(generator):
    """Rows with padding, of two segments; the last has no second one."""
    positions = np.arange(SHAPE[1])
    mask = positions < LENGTHS[:, :1]
    return {
        "input_ids": (generator.integers(5, CONFIG["vocab_size"], SHAPE) * mask).astype("int32"),
        "input_mask": mask.astype("int32"),
        "segment_ids": (mask & (positions >= LENGTHS[:, 1:])).astype("int32"),
        "masked_lm_positions": np.array([[1, 4, 7, 11], [2, 3, 8, 0], [1, 2, 0, 0]], "int32"),
    }


def google(checkout):
    """Google's modules, with a `tensorflow` that has what they miss in today's."""
    stand_in = types.ModuleType("tensorflow")
    stand_in.__getattr__ = lambda name: getattr(tf, name)
    stand_in.layers = types.SimpleNamespace(dense=dense)
    stand_in.contrib = types.SimpleNamespace(layers=types.SimpleNamespace(layer_norm=layer_norm))
    sys.path.insert(0, checkout)
    sys.modules["tensorflow"] = stand_in
    try:
        import modeling
        import run_pretraining
    finally:
        sys.modules["tensorflow"] = tensorflow
        sys.path.remove(checkout)
    return modeling, run_pretraining


def dense(inputs, units, activation=None, kernel_initializer=None, name="dense"):
    with tf.variable_scope(name):
        shape = [inputs.shape[-1], units]
        kernel = tf.get_variable("kernel", shape, initializer=kernel_initializer)
        bias = tf.get_variable("bias", units, initializer=tf.zeros_initializer())
    outputs = tf.matmul(inputs, kernel) + bias
    return outputs if activation is None else activation(outputs)


def layer_norm(inputs, begin_norm_axis, begin_params_axis, scope):
    """TensorFlow 1.11's, whose epsilon is 1e-12 in float32."""
    assert begin_norm_axis == begin_params_axis == -1
    with tf.variable_scope(scope, "LayerNorm"):
        beta = tf.get_variable("beta", inputs.shape[-1], initializer=tf.zeros_initializer())
        gamma = tf.get_variable("gamma", inputs.shape[-1], initializer=tf.ones_initializer())
    mean, variance = tf.nn.moments(inputs, [-1], keepdims=True)
    return tf.nn.batch_normalization(inputs, mean, variance, beta, gamma, 1e-12)


if __name__ == "__main__":
    main(sys.argv[1])
