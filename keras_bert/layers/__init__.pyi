from .layer_combination import LayerCombination as LayerCombination
