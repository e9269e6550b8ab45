"""Weights of other libraries, read and written as `{our name: array}`."""
