"""`fleet`: the same verb on many machines over ssh, Slurm or Kubernetes."""
