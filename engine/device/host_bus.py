"""The bus between host and GPU, as Linux states it: PCI Express, its speed and its width."""

from pathlib import Path

PCI_DEVICES = Path("/sys/bus/pci/devices")

# Up to 5 GT/s 8 of 10 bits are data, from 8 GT/s on 128 of 130.
_EIGHT_OF_TEN_UP_TO = 5.0


def host_bus_gb_s(domain: int, bus: int, device: int) -> float:
    """Return the theoretical bandwidth of a PCI device's link in one direction, GB/s; 0 where nobody says.

    It is the most that device and slot agreed on: an idle link runs slower.
    """
    folder = PCI_DEVICES / f"{domain:04x}:{bus:02x}:{device:02x}.0"
    try:
        speed, width = ((folder / f"max_link_{name}").read_text() for name in ("speed", "width"))
        gigatransfers, lanes = float(speed.split()[0]), int(width)
    except (OSError, ValueError, IndexError):
        return 0.0
    data = 8 / 10 if gigatransfers <= _EIGHT_OF_TEN_UP_TO else 128 / 130
    return gigatransfers * data * lanes / 8
