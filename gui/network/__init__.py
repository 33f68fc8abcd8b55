"""The page Network: a digit through the network of the CNN report, layer by layer, and its stages."""
