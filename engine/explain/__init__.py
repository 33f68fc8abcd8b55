"""What a run does on a device, found without running it: from the kernel's source and from its launch."""
