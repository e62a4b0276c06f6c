"""What `compare` sets side by side: chips, machines and clouds, each as one plan, and their rooflines."""
