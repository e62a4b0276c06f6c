"""Time of networks that process whole samples: classifiers, encoders, image generators."""
