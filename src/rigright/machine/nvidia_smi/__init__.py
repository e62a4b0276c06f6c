"""What nvidia-smi writes, read without a driver: its XML, its `-q` text, its tables, matrices and lists."""
