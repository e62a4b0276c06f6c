"""The whole machine around the chips: what stands there, and what may be changed."""
