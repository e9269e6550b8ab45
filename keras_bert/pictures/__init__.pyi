from .attention_view import show_attention as show_attention
