"""The paper's experiments, tables and figures. `reproduction` runs one experiment from start to finish."""
