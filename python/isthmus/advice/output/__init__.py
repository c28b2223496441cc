"""Advice in words: sentences, text, JSON and the report in HTML.

- ``as_json``: advice as plain numbers, for programs
- ``sentences``: advice in sentences, each with the figures that carry it; thresholds are in one place, below
- ``settings_words``: queues and parameters of MPI in words
- ``text``: what ``print(advice)`` says: one page
- ``words``: algorithms of collectives in words: for the page, the report and the sentences
- ``html/``: the report: one page of HTML
"""
