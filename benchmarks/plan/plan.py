"""Plans pre-training on TPUs or GPUs without one: memory, traffic, shortest step time, days.

    pip install ".[jax]" libtpu  # for TPUs; for GPUs, with the version of JAX:
    pip install nvidia-cuda-nvcc
    pip install --no-deps jax-cuda13-plugin==VERSION jax-cuda13-pjrt==VERSION

    python benchmarks/plan/plan.py --device v5e:4x4 --size large --sequence_length 512
    python benchmarks/plan/plan.py --device h100:8 --packed --attention_dropout 0
    python benchmarks/plan/plan.py --device h100 --batch_size 32 --keras_hub

The chips' own compiler, which needs Linux, compiles the step that `fit` runs on JAX, in
mixed_bfloat16. It reports memory and traffic, and the chips' published peak rates give the shortest
time, without that of communication. `--utilization` is the fraction of these that you expect.
`--keras_hub` plans the step of KerasHub's BertMaskedLM, which has no next-sentence head. On a GPU,
attention takes cuDNN's kernel only with `--attention_dropout 0`.

The paper's training takes 0.9 times the days printed for 128 tokens plus 0.1 times those for 512.
"""

import argparse
import collections
import importlib.util
import math
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":  # before Keras is imported
    os.environ |= {
        "KERAS_BACKEND": "jax",
        "JAX_PLATFORMS": "cpu",  # nothing runs on a TPU or a GPU
        "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",  # no search for CUDA's libraries
        "TPU_SKIP_MDS_QUERY": "1",  # nobody is asked what TPU this is
        "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # no TPU needs exclusive access
    }

import keras
import numpy as np
from hbm_traffic import hbm_moves
from train_step import lower_step, pretraining_batch, pretraining_flops

import keras_bert
from keras_bert.sizes import SIZES

FOLDER = Path(__file__).parent
GIB = 2**30


class Chip(NamedTuple):
    """A kind of TPU or GPU."""

    flops_per_second: float  # peak rate of dense bfloat16 operations
    bytes_per_second: float  # peak rate between the chip and its HBM
    available_bytes: float  # of TPUs: as libtpu 0.0.52 reports them
    topology_options: dict = {}  # of TPUs
    is_gpu: bool = False


# TPUs: https://cloud.google.com/tpu/docs/v4, and the same pages for v5e, v5p and v6e.
# GPUs: NVIDIA's data sheets of the SXM cards; JAX reserves 0.75 of their memory.
CHIPS = {
    # A v4 chip has two cores. "megacore" makes them one JAX device, which is v5p's default.
    "v4": Chip(275e12, 1200e9, 30.75 * GIB, {"chip_config_name": "megacore"}),
    "v5e": Chip(197e12, 819e9, 15.75 * GIB),
    "v5p": Chip(459e12, 2765e9, 95.73 * GIB),
    "v6e": Chip(918e12, 1638e9, 31.24 * GIB),
    "h100": Chip(989e12, 3352e9, 0.75 * 84929347584, is_gpu=True),
    "a100": Chip(312e12, 2039e9, 0.75 * 85050130432, is_gpu=True),
}
# Which of several kernels of a product is faster is measured on a GPU; without one, any is taken.
# Optimizing machine code only takes time.
GPU_OPTIONS = {"xla_gpu_autotune_level": "0", "xla_llvm_disable_expensive_passes": True}
CAUSES = {  # of traffic, by the first pattern that an operation's name has
    "attention": r"/(self_)?attention(_layer)?/(?!.*(query|key|value|output).*dot)",
    "masked-LM head": r"masked_lm|mlm_head|token_embedding/dot|softmax|compile_loss",
    "optimizer": r"adam",
    "embeddings": r"embedding",
    "encoder, the rest": r"block_|transformer_layer|bert_backbone",
    "other": r"",
}
COMMUNICATION = r"(all-(?:reduce|gather|to-all)|collective-\w+|reduce-scatter)(?:-start)?\("


def absent_devices(device):
    """Returns the chips of a device such as "v5e:2x2" or "h100:8", to compile for."""
    from jax.experimental import topologies

    name, _, shape = device.partition(":")
    if CHIPS[name].is_gpu:
        put_ptxas_on_path()
        target = (FOLDER / f"{name}.txtpb").read_text()
        options = {"target_config": target, "topology": f"1x{shape or 1}x1"}
        return topologies.get_topology_desc(platform="cuda", **options).devices
    options = CHIPS[name].topology_options
    return topologies.get_topology_desc(device, platform="tpu", **options).devices


def put_ptxas_on_path():
    nvidia = importlib.util.find_spec("nvidia")
    for folder in nvidia.submodule_search_locations if nvidia else ():
        for path in Path(folder).glob("cu*/bin/ptxas"):
            os.environ["PATH"] += os.pathsep + str(path.parent)
    if shutil.which("ptxas") is None:
        sys.exit("GPUs need ptxas: pip install nvidia-cuda-nvcc")


def compile_program(lowered, chip):
    """Compiles a lowered step; returns the program and the text of its optimized HLO.

    The compiler dumps the text: JAX can't read every program for newer chips (v5p).
    """
    with tempfile.TemporaryDirectory() as folder:
        options = {"xla_dump_to": folder, "xla_dump_hlo_as_text": True}
        if chip.is_gpu:
            options |= GPU_OPTIONS
        program = lowered.compile(compiler_options=options)
        [path] = Path(folder).glob("*after_optimizations.txt")
        return program, path.read_text()


def keras_hub_step(args):
    import keras_hub

    size = {**SIZES[args.size], "num_layers": args.num_layers}
    backbone = keras_hub.models.BertBackbone(args.vocabulary_size, **size)
    model = keras_hub.models.BertMaskedLM(backbone)
    model.compile(
        optimizer=keras.optimizers.AdamW(1e-4, weight_decay=0.01, global_clipnorm=1.0),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        weighted_metrics=[keras.metrics.SparseCategoricalAccuracy()],
    )
    tokens = np.zeros((args.batch_size, args.sequence_length), "int32")
    slots = tokens[:, : args.max_predictions]
    names = ("token_ids", "segment_ids", "padding_mask")
    x = {**dict.fromkeys(names, tokens), "mask_positions": slots}
    return model, (x, slots, slots.astype("float32"))


def own_step(args):
    size = {**SIZES[args.size], "num_layers": args.num_layers}
    backbone = keras_bert.BertBackbone(
        args.vocabulary_size,
        attention_dropout=args.attention_dropout,
        remat=args.remat,
        **size,
    )
    model = keras_bert.BertPretrainer(backbone)
    model.accumulation_steps = args.accumulation_steps
    shape = args.batch_size, args.sequence_length, args.max_predictions
    return model, pretraining_batch(model, *shape, 8 if args.packed else None)


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--device", default="v5e:2x2", help="TPUs, such as v5e:4x4 or v4:2x2x1; or h100, a100:8")
    add("--size", default="base", choices=sorted(SIZES), help="published size of the model")
    add("--num_layers", type=int, help="layers, if not those of the size")
    add("--vocabulary_size", type=int, default=30522, help="tokens in the vocabulary")
    add("--sequence_length", type=int, default=128, help="tokens per sequence")
    add("--max_predictions", type=int, help="masked tokens per row; 20 for 128, 80 for 512")
    add("--batch_size", type=int, default=256, help="rows per step, over all devices")
    add("--accumulation_steps", type=int, default=1, help="split each batch into this many parts")
    add("--packed", action="store_true", help="fill rows with up to eight sequences")
    add("--remat", action="store_true", help="save memory by recomputing activations")
    add("--attention_dropout", type=float, help="0 is faster; 0.1 by default")
    add("--keras_hub", action="store_true", help="plan KerasHub's masked LM instead")
    add("--steps", type=int, default=1_000_000, help="optimizer steps in total")
    add("--utilization", type=float, default=0.4, help="expected fraction of the peak rate")
    args = parser.parse_args(argv)
    if args.device.partition(":")[0] not in CHIPS:
        parser.error(f"--device begins with one of {', '.join(CHIPS)}; got {args.device!r}")
    if args.num_layers is None:
        args.num_layers = SIZES[args.size]["num_layers"]
    if args.max_predictions is None:
        args.max_predictions = 4 * math.ceil(0.15 * args.sequence_length / 4)
    return args


def main():
    args = parse_args()
    keras.config.set_dtype_policy("mixed_bfloat16")
    chip = CHIPS[args.device.partition(":")[0]]
    devices = absent_devices(args.device)
    model, batch = own_step(args)
    flops = args.batch_size * pretraining_flops(
        model.backbone, args.sequence_length, args.max_predictions, not args.keras_hub
    )
    if args.keras_hub:
        model, batch = keras_hub_step(args)
    print(f"{' '.join(sys.argv[1:])}\n{model.count_params():,} weights on {len(devices)} chips")
    started = time.perf_counter()
    program, text = compile_program(lower_step(model, devices, batch), chip)
    print(f"compiled in {time.perf_counter() - started:.0f} s")
    print_memory(program.memory_analysis(), chip)

    causes = collections.Counter()
    for num_bytes, operation in hbm_moves(text, args.accumulation_steps):
        cause = next(c for c, pattern in CAUSES.items() if re.search(pattern, operation))
        causes[cause] += num_bytes
    moved = sum(causes.values())
    flops /= len(devices)
    products = flops / chip.flops_per_second
    traffic = moved / chip.bytes_per_second
    print(f"matrix products: {flops:.3g} FLOPs, {1000 * products:.1f} ms at the peak rate")
    print(f"HBM reads and writes: {moved:.3g} bytes, {1000 * traffic:.1f} ms at the peak rate")
    print("   " + ", ".join(f"{cause} {causes[cause]:.3g}" for cause in CAUSES))
    print(f"communication: {', '.join(sorted(set(re.findall(COMMUNICATION, text)))) or 'none'}")
    least = max(products, traffic)
    for name, seconds in (
        ("at best", least),
        (f"at {args.utilization:.0%} utilization", max(least, products / args.utilization)),
    ):
        tokens = args.batch_size * args.sequence_length / seconds
        print(
            f"{name}: {1000 * seconds:.1f} ms a step, {tokens:,.0f} tokens/s, "
            f"{args.steps * seconds / 86400:.2f} days for {args.steps:,} steps"
        )


def print_memory(memory, chip):
    parts = {
        "weights, optimizer and batch": memory.argument_size_in_bytes
        + memory.output_size_in_bytes
        - memory.alias_size_in_bytes,
        "temporaries": memory.temp_size_in_bytes,
        "code": memory.generated_code_size_in_bytes,
    }
    needed = sum(parts.values())
    told = ", ".join(f"{name} {size / GIB:.2f}" for name, size in parts.items())
    verdict = "fits" if needed <= chip.available_bytes else "doesn't fit"
    print(
        f"memory of a chip: {told}; in all {needed / GIB:.2f} of "
        f"{chip.available_bytes / GIB:.2f} GiB: {verdict}"
    )


if __name__ == "__main__":
    main()
