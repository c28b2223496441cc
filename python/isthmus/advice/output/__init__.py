"""Advice in words: sentences, text, JSON and the report in HTML."""
