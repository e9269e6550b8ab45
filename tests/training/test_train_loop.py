import keras
import numpy as np

from keras_bert import AdamW, BertClassifier


def test_gradients_of_many_parts_are_summed_in_float32(make_backbone):
    """In bfloat16 a sum of 16 equal parts is off by 3 %."""
    backbone = make_backbone(dropout=0.0, dtype="bfloat16")
    model = BertClassifier(backbone, num_classes=2, dropout=0.0)
    gradients = []
    for parts in (1, 16):
        x = {"token_ids": np.tile([[2, 7, 9, 3]], (parts, 1))}
        model.compile(AdamW(1e-9, beta_1=0.0, global_clipnorm=None))  # the moment is the gradient
        model.fit(x, np.ones(parts), batch_size=parts, accumulation_steps=parts, verbose=0)
        moments = model.optimizer._first_moments
        gradients.append([keras.ops.convert_to_numpy(moment) for moment in moments])
    for one, many in zip(*gradients, strict=True):
        np.testing.assert_allclose(many, one, rtol=16 * np.finfo("float32").eps)
