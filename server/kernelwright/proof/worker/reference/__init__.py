"""What is right: the fp64 run of the baseline (`fp64`), and what the baseline leaves open."""
