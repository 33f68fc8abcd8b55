"""The passes of a product on a CUDA device."""

from engine.device.cuda_kernels import PreparedPasses
from engine.device.launches import DeviceArray, Operand
from engine.variants.matmul.operands import Matrix


class PreparedProduct(PreparedPasses):
    """The passes of a product of two matrices: its input is the pair (A, B)."""

    def launch(self, image: tuple[DeviceArray, DeviceArray], out: DeviceArray, stream: object = 0) -> None:
        """Enqueue one product of two device arrays into a third."""
        a, b = image
        self._enqueue({Matrix.LEFT: a, Matrix.RIGHT: b, Operand.OUT: out}, stream)
