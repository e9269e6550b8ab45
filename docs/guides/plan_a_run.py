# %% [markdown]
# # Plan a run on TPUs or GPUs
#
# Before you rent a TPU or a GPU, its own compiler can tell you what training will need: whether
# your batch fits, how long a step takes at best, and what a million of them cost in days. The
# compilers run on Linux without a TPU or a GPU.
#
# ```bash
# pip install ".[tpu-plan]"  # for GPUs, ".[gpu-plan]"
# python recipes/plan.py --device v5e:2x2 --size base --sequence_length 128
# ```
#
# It compiles the step that `fit` runs on JAX, in mixed_bfloat16, for chips that aren't there. This
# includes dropout, clipping, AdamW and the all-reduce. Compiling takes minutes. This is the plan of
# the command above (libtpu 0.0.52, JAX 0.10.2; the paper's batch of 256, 64 rows per chip):
#
# ```text
# memory per chip, GiB
#   weights, optimizer and batch         1.23
#   temporaries                          1.65
#   code                                 0.20
#   total, of 15.75                      3.08   fits, 12.67 to spare
#
# per step, on each chip
#   matrix products of the model     4.48e+12 FLOPs      22.7 ms at the peak rate
#   all operations                   4.61e+12 FLOPs      23.4 ms at the peak rate
#   HBM reads and writes             1.19e+10 bytes      14.5 ms at the peak rate
#   bound by compute: at best 97% utilization
#
# 1,000,000 steps                   ms a step    tokens/s      days
#   at best                              23.4   1,401,117      0.27
#   at 40% utilization                   56.8     576,951      0.66
# ```
#
# Read it from the top:
#
# - 3.08 of 15.75 GiB are used: a larger batch or a longer sequence would fit. If the batch doesn't
#   fit, the plan prints how much memory is missing.
# - A step's operations take 23.4 ms at the chip's published peak rate, and moving its bytes between
#   the chip and its HBM takes 14.5 ms. The longer of the two bounds the step.
# - No run reaches the peak rate. The last line has tokens per second and days for a million steps
#   at the `--utilization` you expect.
#
# Communication between chips is compiled, but the times leave it out. No plan has been compared
# with a run on a real TPU yet.
#
# ## Other questions
#
# Memory grows almost linearly with `--batch_size`: two plans tell which is the largest that fits.
# `--accumulation_steps` and `--remat` reduce the memory needed. `--packed` plans rows of up to 8
# sequences. The kinds of chip are v4, v5e, v5p and v6e, and the GPUs h100 and a100.
#
# ```bash
# python recipes/plan.py --device v5e:4x4 --size large --sequence_length 512
# python recipes/plan.py --sequence_length 512 --packed  # rows of up to 8 sequences
# python recipes/plan.py --device h100:8 --packed --attention_dropout 0  # eight GPUs
# ```
#
# A GPU's plan has the model's matrix products in place of all operations, which its compiler
# doesn't count, and three quarters of the card's memory, which is what JAX reserves by default.
# cuDNN's attention, which writes no scores, can't drop any: train with `--attention_dropout 0`.
# [GPU plans](../gpu_planning.md) has the traffic of Base and Large on an H100 and an A100, next to
# KerasHub's.
#
# [Traffic and memory](../results.md#traffic-and-memory-on-a-tpu) compares such a plan with
# KerasHub's step. For the run itself, see [many devices](many_devices.py#tpus).
#
# ## Reference: Base on 4 chips, Large on 16
#
# The paper trained Base on 4 Cloud TPUs and Large on 16, which had 4 chips each. These plans take a
# quarter of its chips and its batches of 256. The first three columns are `--device`, `--size`
# and `--sequence_length`. "Products" is the time of a step's matrix products at the peak rate. The
# last three columns (a step, tokens per second, days for a million steps) assume 40 % of the peak
# rate.
#
# | topology | size | tokens | memory per chip, GiB | products | step | tokens/s | days |
# |---|---|---|---|---|---|---|---|
# | v5e:2x2 | base | 128 | 3.08 of 15.75 | 22.7 ms | 56.8 ms | 576,951 | 0.66 |
# | v4:2x2x1 | base | 128 | 4.24 of 30.75 | 16.3 ms | 40.7 ms | 805,388 | 0.47 |
# | v5p:2x2x1 | base | 128 | 3.65 of 95.73 | 9.8 ms | 24.4 ms | 1,344,267 | 0.28 |
# | v5e:2x2 | base | 512 | 7.78 of 15.75 | 97.9 ms | 244.8 ms | 535,356 | 2.83 |
# | v4:2x2x1 | base | 512 | 12.29 of 30.75 | 70.2 ms | 175.4 ms | 747,325 | 2.03 |
# | v5p:2x2x1 | base | 512 | 10.09 of 95.73 | 42.0 ms | 105.1 ms | 1,247,353 | 1.22 |
# | v5e:4x4 | large | 128 | 5.51 of 15.75 | 19.5 ms | 48.9 ms | 670,631 | 0.57 |
# | v4:2x2x4 | large | 128 | 6.11 of 30.75 | 14.0 ms | 35.0 ms | 936,160 | 0.41 |
# | v5p:2x2x4 | large | 128 | 5.72 of 95.73 | 8.4 ms | 21.0 ms | 1,562,535 | 0.24 |
# | v5e:4x4 | large | 512 | 8.33 of 15.75 | 82.9 ms | 207.2 ms | 632,541 | 2.40 |
# | v4:2x2x4 | large | 512 | 11.31 of 30.75 | 59.4 ms | 148.4 ms | 882,989 | 1.72 |
# | v5p:2x2x4 | large | 512 | 9.73 of 95.73 | 35.6 ms | 88.9 ms | 1,473,788 | 1.03 |
#
# The paper trains nine tenths of its steps on 128 tokens and the rest on 512. At 40 %, the complete
# training takes:
#
# | | v5e | v4 | v5p |
# |---|---|---|---|
# | Base on 4 chips | 0.88 days | 0.63 | 0.37 |
# | Large on 16 chips | 0.75 days | 0.54 | 0.32 |
