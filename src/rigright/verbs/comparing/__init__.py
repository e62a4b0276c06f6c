"""The contenders of `compare`: chips, machines and clouds, each as one plan, and their rooflines."""
