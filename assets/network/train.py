"""Train the network's weights on scikit-learn's digits; write weights.npz and held_out.npz beside this file.

    python -m venv /tmp/training
    /tmp/training/bin/pip install scikit-learn torch
    /tmp/training/bin/python assets/network/train.py

1,797 digits of 8 x 8 (UCI, "Optical Recognition of Handwritten Digits") become 28 x 28 by linear
interpolation. Every fifth one (360 of them) is held out and never trained on. The others are shifted, turned
and scaled at random in each round, so that a digit drawn with a mouse is recognised, too. Neither package is
needed to run the program. Takes about two minutes on two cores.
"""

from pathlib import Path

import numpy as np
import torch
from scipy.ndimage import zoom
from sklearn.datasets import load_digits
from torch.nn import functional

HERE = Path(__file__).parent
ROUNDS = 40
BATCH = 64


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Return all digits as (n, 28, 28) uint8, 0 paper and 255 ink, and their labels."""
    data = load_digits()
    large = zoom(data.images, (1, 3.5, 3.5), order=1) * (255.0 / 16.0)
    return np.clip(np.rint(large), 0, 255).astype(np.uint8), data.target.astype(np.uint8)


class Network(torch.nn.Module):
    """The report's network; no biases."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution_1 = torch.nn.Conv2d(1, 32, 5, bias=False)
        self.convolution_2 = torch.nn.Conv2d(32, 64, 5, bias=False)
        self.hidden = torch.nn.Linear(1024, 128, bias=False)
        self.output = torch.nn.Linear(128, 10, bias=False)

    def forward(self, drawings: torch.Tensor) -> torch.Tensor:
        """Return the scores of drawings (n, 1, 28, 28)."""
        maps = functional.avg_pool2d(functional.relu(self.convolution_1(drawings)), 2)
        maps = functional.avg_pool2d(functional.relu(self.convolution_2(maps)), 2)
        values = functional.relu(self.hidden(maps.flatten(1)))
        return self.output(functional.dropout(values, 0.3, self.training))


def varied(drawings: torch.Tensor) -> torch.Tensor:
    """Return each drawing shifted by up to 2 cells, turned by up to 10 degrees, made smaller or larger."""
    count = len(drawings)
    angle = (torch.rand(count) - 0.5) * 0.35
    across, down = (1.0 / (0.75 + 0.35 * torch.rand(count)) for _ in range(2))
    shift = (torch.rand(count, 2) - 0.5) * 0.28
    turned = torch.zeros(count, 2, 3)
    turned[:, 0, 0], turned[:, 0, 1] = across * torch.cos(angle), -torch.sin(angle)
    turned[:, 1, 0], turned[:, 1, 1] = torch.sin(angle), down * torch.cos(angle)
    turned[:, :, 2] = shift
    grid = functional.affine_grid(turned, list(drawings.shape), align_corners=False)
    return functional.grid_sample(drawings, grid, align_corners=False)


def main() -> None:
    """Train, and write both files."""
    torch.manual_seed(17)
    pixels, labels = digits()
    is_held_out = np.arange(len(labels)) % 5 == 0
    drawings = torch.from_numpy(pixels[~is_held_out, None].astype(np.float32) / 255.0)
    wanted = torch.from_numpy(labels[~is_held_out].astype(np.int64))
    network = Network()
    optimizer = torch.optim.AdamW(network.parameters(), 2e-3, weight_decay=1e-3)
    steps = ROUNDS * -(-len(wanted) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    for number in range(ROUNDS):
        network.train()
        total = 0.0
        for chosen in torch.randperm(len(wanted)).split(BATCH):
            optimizer.zero_grad()
            loss = functional.cross_entropy(network(varied(drawings[chosen])), wanted[chosen])
            loss.backward()
            optimizer.step()
            schedule.step()
            total += float(loss) * len(chosen)
        print(f"round {number + 1}: loss {total / len(wanted):.4f}")
    # Kept as float16: half the bytes, and the digits that are told right stay the same.
    arrays = {
        "convolution_1": network.convolution_1.weight,
        "convolution_2": network.convolution_2.weight,
        "hidden": network.hidden.weight.T,
        "output": network.output.weight.T,
    }
    kept = {name: value.detach().numpy().astype(np.float16) for name, value in arrays.items()}
    np.savez_compressed(HERE / "weights.npz", **kept)
    np.savez_compressed(HERE / "held_out.npz", pixels=pixels[is_held_out], labels=labels[is_held_out])
    network.eval()
    with torch.no_grad():
        for name, module in network.named_children():
            value = torch.from_numpy(kept[name].astype(np.float32))
            module.weight.copy_(value.T if isinstance(module, torch.nn.Linear) else value)
        scores = network(torch.from_numpy(pixels[is_held_out, None].astype(np.float32) / 255.0))
    right = int((scores.argmax(1).numpy() == labels[is_held_out]).sum())
    print(f"held out: {right} of {is_held_out.sum()} right")


if __name__ == "__main__":
    main()
