"""The dialog Batch: what the page does with one picture, for a folder of pictures."""
