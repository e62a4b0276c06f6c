"""`fleet`: the same verb on many machines over ssh, Slurm, Ray or Kubernetes."""
