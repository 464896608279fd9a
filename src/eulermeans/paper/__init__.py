"""The paper's experiments, tables and figures."""
