"""`fft` and `cpu-fft`: convolution by transforms of overlapping tiles."""
