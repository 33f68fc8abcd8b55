"""Operations other than convolution: choice, parameters, kernels, what is found."""
