"""`fleet`: the same verb on many machines, over what people already run: ssh, Slurm, Ray, Kubernetes."""
