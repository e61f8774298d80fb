"""The confinement of a process that runs the user's code or a candidate: `fence.confine`, called right after the fork.

Standard library and ctypes only. Held where the system allows it, and told where it does not: no writing outside of one
folder, no reading of credentials, no network, no access to the memory of other processes and no signals to them, no
secrets in the environment, no new privileges, bounds on files and processes.

Not guaranteed, whatever is held:
- names and attributes of files are visible everywhere, also in hidden folders; the user's own files can be read, a `.env`
  in the project included
- local sockets with a path stay reachable: a Docker or D-Bus socket that the user may use is a way out
- several files together can fill the disk
- host memory is bounded by the server's watch, because CUDA reserves more address space than any limit could allow; the
  memory of the GPU, and other processes on it, are the driver's to protect
- a defect of the kernel or of the GPU's driver
"""
