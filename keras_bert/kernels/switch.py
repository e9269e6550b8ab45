"""Whether kernels are on."""

_state = {"are_on": True}


def are_on() -> bool:
    """Returns whether kernels are on, as they are unless `disable` has turned them off."""
    return _state["are_on"]


def disable() -> None:
    """Has layers compute all operations plainly, in what is traced from now on."""
    _state["are_on"] = False


def enable() -> None:
    """Turns kernels on again, after `disable`."""
    _state["are_on"] = True
