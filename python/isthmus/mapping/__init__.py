"""Mapping: where ranks sit, what that costs, and where they had better sit."""
