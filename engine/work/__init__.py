"""What is done with pictures: steps (a mask, an operation, a combination), what computes and proves them."""
