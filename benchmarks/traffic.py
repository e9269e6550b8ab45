"""Memory traffic of a pre-training step on TPUs and GPUs: ours and KerasHub's, by one count.

    pip install ".[tpu-plan]"
    python benchmarks/traffic.py --sequence_length 512

    pip install ".[gpu-plan]"
    python benchmarks/traffic.py --device h100 --layers 2 --batch_size 32 --attention_dropout 0

Compiles the steps ahead of time, which takes minutes each and no TPU or GPU. `packed` has the same
tokens in rows as `kernel`, more of them real: `--fill` gives the share without and with packing.
KerasHub's BertMaskedLM has no next-sentence head. On a GPU, attention takes a kernel only without
dropout.
"""

import argparse
import collections
import os
import re
import time

if __name__ == "__main__":  # before Keras is imported
    os.environ["KERAS_BACKEND"] = "jax"
    os.environ["JAX_PLATFORMS"] = "cpu"  # nothing runs on a TPU or a GPU
    os.environ["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"] = "1"

import keras
import numpy as np

import keras_bert
from keras_bert.planning.compiler import (
    check_compiler,
    compile_program,
    lower_step,
    planned_devices,
    pretraining_batch,
)
from keras_bert.planning.devices import GIB, find_chips
from keras_bert.planning.hbm_traffic import hbm_moves

CAUSES = {  # by the first pattern that an operation's name has
    "attention": r"/(self_)?attention(_layer)?/(?!.*(query|key|value|output).*dot)",
    "masked-LM head": r"masked_lm|mlm_head|token_embedding/dot|softmax|compile_loss",
    "optimizer": r"adam",
    "embeddings": r"embedding",
    "encoder, the rest": r"block_|transformer_layer|bert_backbone",
    "other": r"",
}


def keras_hub_step(args):
    import keras_hub

    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=30522, max_sequence_length=512, **sizes(args)
    )
    model = keras_hub.models.BertMaskedLM(backbone)
    model.compile(
        optimizer=keras.optimizers.AdamW(1e-4, weight_decay=0.01, global_clipnorm=1.0),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        weighted_metrics=[keras.metrics.SparseCategoricalAccuracy()],
    )
    tokens = np.zeros((args.batch_size, args.sequence_length), "int32")
    slots = tokens[:, : predictions(args)]
    names = ("token_ids", "segment_ids", "padding_mask")
    x = {**dict.fromkeys(names, tokens), "mask_positions": slots}
    return model, (x, slots, slots.astype("float32"))


def own_step(args, sequences_per_row=None):
    dropout = 0.1 if args.attention == "plain" else args.attention_dropout
    backbone = keras_bert.BertBackbone(30522, **sizes(args), attention_dropout=dropout)
    model = keras_bert.BertPretrainer(backbone)
    shape = args.batch_size, args.sequence_length, predictions(args)
    return model, pretraining_batch(model, *shape, sequences_per_row)


def sizes(args):
    return {**keras_bert.sizes.SIZES[args.size], "num_layers": args.layers}


def predictions(args):
    return 4 * -(-15 * args.sequence_length // 400)


PROGRAMS = {
    "keras_hub": keras_hub_step,
    "plain": own_step,
    "kernel": own_step,
    "packed": lambda args: own_step(args, sequences_per_row=8),
}


def measure(name, args):
    """Prints memory and traffic of one program, the traffic by cause."""
    args.attention = name
    if name == "plain":
        keras.config.disable_flash_attention()
    model, batch = PROGRAMS[name](args)
    started = time.perf_counter()
    chip, count = find_chips(args.device)
    check_compiler(chip)
    devices = planned_devices(args.device, chip, count)
    program, text = compile_program(lower_step(model, devices, batch), chip)
    keras.config.enable_flash_attention()
    memory = program.memory_analysis()
    arguments = memory.argument_size_in_bytes + memory.output_size_in_bytes
    needed = (
        arguments
        - memory.alias_size_in_bytes
        + memory.temp_size_in_bytes
        + memory.generated_code_size_in_bytes
    )
    causes = collections.Counter()
    for num_bytes, operation in hbm_moves(text):
        causes[next(c for c, pattern in CAUSES.items() if re.search(pattern, operation))] += (
            num_bytes
        )
    moved = sum(causes.values())
    print(
        f"{name}: {moved:.4g} bytes moved a chip and step, {needed / GIB:.2f} GiB of memory, "
        f"{memory.temp_size_in_bytes / GIB:.2f} of it temporaries "
        f"({time.perf_counter() - started:.0f} s)"
    )
    print("   " + ", ".join(f"{cause} {causes[cause]:.3g}" for cause in CAUSES), flush=True)
    return moved


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--device", default="v5e:2x2", help="as of recipes/plan.py")
    parser.add_argument("--attention_dropout", type=float, default=0.1, help="with a kernel")
    parser.add_argument("--size", default="base")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--sequence_length", type=int, default=512)
    parser.add_argument("--batch_size", type=int, default=256, help="rows over all chips")
    parser.add_argument("--programs", nargs="+", default=list(PROGRAMS), choices=PROGRAMS)
    parser.add_argument("--fill", nargs=2, type=float, default=(0.808, 0.983))
    return parser.parse_args(argv)


def main():
    args = parse_args()
    keras.config.set_dtype_policy("mixed_bfloat16")
    print(args)
    moved = {name: measure(name, args) for name in args.programs}
    if "keras_hub" in moved:
        theirs = moved["keras_hub"] / args.fill[0]
        for name, own in moved.items():
            real = own / args.fill[name == "packed"]
            print(
                f"{name}: {own / moved['keras_hub']:.2f} of KerasHub's bytes for a row's tokens, "
                f"{real / theirs:.2f} for a real token"
            )


if __name__ == "__main__":
    main()
