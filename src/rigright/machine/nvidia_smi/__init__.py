"""nvidia-smi output, read without a driver: XML, `-q` text, tables, matrices and lists."""
