import importlib.util
from pathlib import Path

import keras
import pytest

from keras_bert import BertBackbone, sizes
from keras_bert.planning import Plan
from keras_bert.planning.compiler import CompiledCost, read_excess
from keras_bert.planning.devices import CHIPS, GIB, find_chips
from keras_bert.planning.hbm_traffic import hbm_traffic
from keras_bert.planning.planned_step import PlannedStep, pretraining_flops


def planned(rows=64, needed=4 * GIB, excess=None, flops=3.94e12, hbm_bytes=32.76e9):
    """Makes a step on 4 chips of v5e, as if it were compiled."""
    cost = CompiledCost(GIB, needed - 1.5 * GIB, 0.5 * GIB, flops, hbm_bytes, None, 1.0)
    if excess is not None:
        cost = CompiledCost(None, None, None, None, None, excess, 1.0)
    return PlannedStep(*find_chips("v5e:2x2"), 4 * rows, 128, 4 * 3.94e12, cost)


@pytest.fixture
def plan(monkeypatch):
    """A plan for 4 chips on any machine."""
    monkeypatch.setattr("keras_bert.planning.compiler.check_compiler", lambda chip: None)
    return Plan("v5e:2x2", log=[].append)


def test_a_device_has_a_kind_and_a_number_of_chips():
    assert find_chips("v5e:4x4") == (CHIPS["v5e"], 16) and find_chips("v5p:2x2x1")[1] == 4
    assert find_chips("h100") == (CHIPS["h100"], 1) and find_chips("a100:16")[1] == 16
    assert CHIPS["v4"].topology_options == {"chip_config_name": "megacore"}, "one device per chip"


@pytest.mark.parametrize("device", ["v5e", "v5e:3x3", "h100:2x2", "h100:0", "v4:2x2", "v100", ""])
def test_an_unknown_device_is_refused_with_the_known_ones(device, refused):
    refused(f"'{device}'.*v4:2x2x1.*v5e:4x4.*v5p.*v6e:2x2.*a100", Plan, device)


@pytest.mark.parametrize("length, predictions", [(128, 20), (512, 80)])
def test_flops_match_a_calculation_by_hand(length, predictions):
    vocabulary, layers, width = 1000, sizes.tiny["num_layers"], sizes.tiny["hidden_dim"]
    per_token = 24 * layers * width**2 + 4 * layers * length * width  # I = 4H
    heads = predictions * (2 * width**2 + 2 * width * vocabulary) + 2 * width**2 + 4 * width
    found = pretraining_flops(BertBackbone(vocabulary, **sizes.tiny), length, predictions)
    assert found == 3 * (length * per_token + heads)


def test_a_step_takes_the_longer_of_computation_and_memory_traffic():
    step = planned(hbm_bytes=8.19e9)
    assert (step.bound, step.least_seconds) == ("compute", pytest.approx(0.020))
    step = planned()
    assert (step.bound, step.least_seconds) == ("memory", pytest.approx(0.040))
    assert step.seconds(0.25) == pytest.approx(0.080)
    assert step.seconds(0.9) == pytest.approx(0.040), "no faster than the memory allows"


def test_the_table_shows_memory_work_and_time():
    table = planned().table(steps=1000, utilization=0.25)
    for words in (
        "total, of 15.75                      4.00   fits, 11.75 to spare",
        "matrix products of the model     3.94e+12 FLOPs      20.0 ms at the peak rate",
        "HBM reads and writes             3.28e+10 bytes      40.0 ms at the peak rate",
        "bound by memory: at best 50% utilization",
        "at best                              40.0     819,200      0.00",
        "at 25% utilization                   80.0     409,600      0.00",
    ):
        assert words in table
    assert float(planned().table(utilization=0.25).split()[-1]) == round(1e6 * 0.080 / 86400, 2)
    assert "at 50% utilization" in planned().table(utilization=0.9)


def test_a_step_that_does_not_fit_reports_the_excess():
    table = planned(excess=2.5 * GIB).table()
    assert "total, of 15.75 " in table and "doesn't fit, 2.50 too much" in table
    refused = PlannedStep(CHIPS["v4"], 4, 256, 128, 1e12, CompiledCost(*[None] * 6, 1.0))
    assert not refused.fits and "too much" not in refused.table()


def test_the_excess_is_parsed_from_the_compilers_message():
    message = (
        "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory "
        "required for HLO temporaries (16.94G) exceeds available HBM (15.75G). HLO module: jit_f."
    )
    assert read_excess(message) == pytest.approx(1.19 * GIB)
    assert read_excess("Used 20G of 15.75G hbm. Exceeded hbm capacity by 512M.") == GIB / 2
    assert read_excess("RESOURCE_EXHAUSTED: something else") is None


PROGRAM = """\
HloModule jit_steps

%fused (p: f32[8]) -> f32[8] {
  %p = f32[8]{0:T(128)} parameter(0)
  ROOT %q = f32[8]{0:T(128)} negate(%p)
}

%part (o: bf16[8,128]) -> bf16[4,128] {
  %o = bf16[8,128]{1,0:T(8,128)(2,1)} parameter(0)
  ROOT %h = bf16[4,128]{1,0:T(8,128)(2,1)S(1)} slice(%o), slice={[0:4], [0:128]}
}

%body (c: (s32[], f32[256])) -> (s32[], f32[256]) {
  %c = (s32[]{:T(128)S(1)}, f32[256]{0:T(256)}) parameter(0)
  %i = s32[]{:T(128)S(1)} get-tuple-element(%c), index=0
  %v = f32[256]{0:T(256)} get-tuple-element(%c), index=1
  %w = f32[256]{0:T(256)} fusion(%v), kind=kLoop, calls=%fused
  ROOT %t = (s32[]{:T(128)S(1)}, f32[256]{0:T(256)}) tuple(%i, %w)
}

ENTRY %main (a: bf16[8,128]) -> f32[256] {
  %a = bf16[8,128]{1,0:T(8,128)(2,1)} parameter(0)
  %s = (bf16[8,128]{1,0:T(8,128)(2,1)S(1)}, bf16[8,128]{1,0:T(8,128)(2,1)}, u32[]{:S(2)}) copy-start(%a)
  %d = bf16[8,128]{1,0:T(8,128)(2,1)S(1)} copy-done(%s)
  %e = ((bf16[8,128]{1,0:T(8,128)(2,1)}), bf16[2,128]{1,0:T(8,128)(2,1)S(1)}, s32[]{:S(2)}) slice-start(%a), slice={[0:2], [0:128]}
  %g = ((bf16[8,128]{1,0:T(8,128)(2,1)}), bf16[4,128]{1,0:T(8,128)(2,1)S(1)}, s32[]{:S(2)}) async-start(%a), calls=%part
  %k = bf16[4,128]{1,0:T(8,128)(2,1)S(1)} async-done(%g)
  %x = (s32[]{:T(128)S(1)}, f32[256]{0:T(256)}) custom-call(%d, %a, %a), custom_call_target="make"
  %l = (s32[]{:T(128)S(1)}, f32[256]{0:T(256)}) while(%x), condition=%enough, body=%body
  ROOT %r = f32[256]{0:T(256)} get-tuple-element(%l), index=1
}
"""  # noqa: E501


def test_on_chip_data_is_no_traffic_and_each_iteration_of_a_loop_counts():
    # The copy and the slices read 2048, 512 and 1024 bytes; the custom call reads 2048, once,
    # and writes 1024; each iteration moves 2 x 1024.
    assert hbm_traffic(PROGRAM, num_iterations=1) == 2048 + 512 + 1024 + 3072 + 2048
    assert hbm_traffic(PROGRAM, num_iterations=3) == 2048 + 512 + 1024 + 3072 + 3 * 2048


def test_a_batch_that_cannot_be_split_evenly_is_refused(plan, refused):
    plan.check_batch(256)
    refused("250 rows.*4 chips.*a multiple of 4, for instance 252", plan.check_batch, 250)
    plan.accumulation_steps = 3
    refused("accumulation_steps=3.*a multiple of 12", plan.check_batch, 256)


def test_numbers_out_of_range_are_refused(plan, refused):
    assert (plan.max_predictions, Plan("v5e:2x2", 512).max_predictions) == (20, 80)
    refused("max_predictions must be at most 128; got 129", Plan, "v5e:2x2", 128, 129)
    refused("accumulation_steps", Plan, "v5e:2x2", accumulation_steps=0)


@pytest.mark.parametrize("device, extra", [("v5e:2x2", "tpu-plan"), ("h100", "gpu-plan")])
def test_the_jax_backend_and_a_compiler_are_required(monkeypatch, device, extra, refused):
    monkeypatch.setattr(keras.backend, "backend", lambda: "tensorflow")
    refused("it is tensorflow.*set KERAS_BACKEND=jax", Plan, device)
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    monkeypatch.delenv("TPU_LIBRARY_PATH", raising=False)

    def find_jax(name):
        if "." in name:  # as of a module whose package is missing
            raise ModuleNotFoundError(name)
        return True if name == "jax" else None

    for find in (find_jax, lambda name: None):
        monkeypatch.setattr(importlib.util, "find_spec", find)
        refused(rf"it is jax.*\[{extra}\]", Plan, device)


def test_a_gpu_has_bounds_without_a_count_of_operations():
    cost = CompiledCost(GIB, 60 * GIB, 0, None, 3.352e12, None, 1.0)
    step = PlannedStep(*find_chips("h100:2"), 64, 128, 2 * 989e12, cost)
    assert (step.bound, step.least_seconds) == ("compute", 1.0)
    assert not step.fits and "1.68 too much" in step.table()
    assert "all operations" not in PlannedStep(*find_chips("a100"), 64, 128, 1e12, cost).table()


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason='pip install ".[parity]"')
def test_the_planned_step_is_the_one_that_fit_compiles_and_shares_no_rows(run_python):
    # The programs are compared as text, for 2 virtual CPU devices; `fit` is stopped before it
    # compiles. Devices exchange sums of gradients and losses, but no rows.
    environment = {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    environment["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    assert "the same" in run_python(Path(__file__).with_name("lowered_step.py"), **environment)
