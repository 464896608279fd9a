"""What `make bench-compare` measures in two commits: processor time with one thread.

asv runs the files of this folder, as they are now, with the package of each commit. So they use public names, and
those of the oracle, which change least.
"""
