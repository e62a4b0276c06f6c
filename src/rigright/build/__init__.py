"""The whole machine around the GPUs: parts lists, compatibility rules, and upgrades."""
