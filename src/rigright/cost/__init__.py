"""The laws: memory of weights, caches, activations and states; pure functions on numbers or arrays alike."""
