"""Plans pre-training on TPUs or GPUs without one: memory, shortest step time, days.

    pip install ".[tpu-plan]"
    python recipes/plan.py --device v5e:4x4 --size large --sequence_length 512

    pip install ".[gpu-plan]"
    python recipes/plan.py --device h100:8 --packed --attention_dropout 0

The chips' own compiler compiles the step that `fit` runs on JAX, in mixed_bfloat16. It reports
memory and traffic, and the chips' published peak rates give the shortest time. `--utilization` is
the fraction of these that you expect. Linux only.

The paper's training takes 0.9 times the days printed for 128 tokens plus 0.1 times those for 512.
"""

import os

if __name__ == "__main__":  # before Keras is imported
    os.environ["KERAS_BACKEND"] = "jax"
    os.environ["JAX_PLATFORMS"] = "cpu"  # nothing runs on a TPU or a GPU
    os.environ["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"] = "1"

import _shared
import keras_bert
from keras_bert.sizes import SIZES


def parse_args(argv=None):
    parser = _shared.recipe_parser(__doc__)
    add = parser.add_argument
    add("--device", default="v5e:2x2", help="TPUs, such as v5e:4x4 or v4:2x2x1; or h100, a100:8")
    add("--size", default="base", choices=sorted(SIZES), help="published size of the model")
    add("--vocabulary_size", type=int, default=30522, help="tokens in the vocabulary")
    add("--sequence_length", type=int, default=128, help="tokens per sequence")
    add("--max_predictions", type=int, help="masked tokens per row; 20 for 128, 80 for 512")
    add("--batch_size", type=int, default=256, help="examples per step, over all devices")
    add("--accumulation_steps", type=int, default=1, help="split each batch into this many parts")
    add("--packed", action="store_true", help="fill rows of --batch_size with several sequences")
    add("--remat", action="store_true", help="save memory by recomputing activations")
    add("--dropout", type=float, default=0.1, help="dropout rate")
    add("--attention_dropout", type=float, help="dropout of attention, if different; 0 is faster")
    add("--steps", type=int, default=1_000_000, help="optimizer steps in total")
    add("--utilization", type=float, default=0.4, help="expected fraction of the peak rate")
    args = parser.parse_args(argv)
    if not 0 < args.utilization <= 1:
        parser.error(f"--utilization is a fraction of the peak, in (0, 1]; got {args.utilization}")
    return args


def main(argv=None):
    args = parse_args(argv)
    import keras  # slow: after the command line is checked

    from keras_bert.planning import Plan

    plan = Plan(
        args.device,
        sequence_length=args.sequence_length,
        max_predictions=args.max_predictions,
        accumulation_steps=args.accumulation_steps,
        sequences_per_row=8 if args.packed else None,  # the default of `pretraining_dataset`
    )
    plan.check_batch(args.batch_size)  # before the model is built
    keras.config.set_dtype_policy("mixed_bfloat16")
    backbone = keras_bert.BertBackbone(
        args.vocabulary_size,
        dropout=args.dropout,
        attention_dropout=args.attention_dropout,
        remat=args.remat,
        **SIZES[args.size],
    )
    model = keras_bert.BertPretrainer(backbone)
    step = plan.compile(model, args.batch_size)
    options = [f"dropout {args.dropout}"]
    if args.packed:
        options.append("packed")
    if args.remat:
        options.append("remat")
    if args.accumulation_steps > 1:
        options.append(f"{args.accumulation_steps} parts")
    print(
        f"\nBERT {args.size}, {model.count_params():,} weights, on {args.device} "
        f"({plan.num_chips} chips of {plan.chip.hbm})\nbatches of {args.batch_size} rows of "
        f"{args.sequence_length} tokens, {plan.max_predictions} predicted; {'; '.join(options)}\n"
    )
    print(step.table(args.steps, args.utilization))


if __name__ == "__main__":
    _shared.run_recipe(main)
