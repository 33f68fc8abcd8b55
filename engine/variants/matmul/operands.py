"""What stands for the two matrices among the arguments of a kernel."""

from engine.device.launches import Placeholder


class Matrix(Placeholder):
    """The two operands of a product."""

    LEFT = "M"
    RIGHT = "N"
