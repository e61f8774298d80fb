print("a file without a kernel")
