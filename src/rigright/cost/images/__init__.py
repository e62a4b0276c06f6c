"""Time of networks that work on a whole sample at once: classifiers, encoders, image generators."""
