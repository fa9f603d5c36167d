"""The report: one self-contained page with plots, tables, advice and configuration."""
