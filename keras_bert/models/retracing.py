"""Compiled functions that follow a model: a mixin of `Backbone` and `BertTask`."""

import weakref

from keras_bert.training.keras_internals import layer_variables, updated_variables


class Retracing:
    """Makes `fit`, `evaluate` and `predict` compile again after a change of what they compute.

    Keras keeps the function that the first call compiled. LoRA, `quantize`, `trainable` and `remat`
    change what a model computes or trains, and they may do so through any of its layers, or through
    another model that shares them. A function is therefore used only while the model has the
    variables with which it was compiled.
    """

    def make_train_function(self, force=False):
        _check_optimizer(self)
        self._make("train_function", super().make_train_function, force)

    def make_test_function(self, force=False):
        self._make("test_function", super().make_test_function, force)

    def make_predict_function(self, force=False):
        self._make("predict_function", super().make_predict_function, force)

    def _make(self, name, make, force):
        variables = layer_variables(self)
        remat = getattr(self, "backbone", self).remat
        settings = [self.trainable, remat, *(variable.trainable for variable in variables)]
        last, last_settings = getattr(getattr(self, name), "compiled_with", ([], None))
        is_same = settings == last_settings and all(
            reference() is variable for reference, variable in zip(last, variables, strict=True)
        )
        make(force or not is_same)
        getattr(self, name).compiled_with = [*map(weakref.ref, variables)], settings


def _check_optimizer(model):
    """Raises a ValueError if weights are trained that the optimizer was not built for."""
    if model.optimizer is None or not model.optimizer.built:
        return
    known = {id(variable) for variable in updated_variables(model.optimizer)}
    new = [variable.path for variable in model.trainable_variables if id(variable) not in known]
    if new:
        raise ValueError(
            f"The optimizer doesn't know {len(new)} of the trainable weights, such as {new[0]}: "
            "they were frozen, or weren't there, when it was built. Compile again, with a new "
            "optimizer."
        )
