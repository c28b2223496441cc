"""The report: one page of HTML."""
