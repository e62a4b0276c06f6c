"""Whether each node of a fleet is fit to be taken over: asked in stages, judged as one."""
