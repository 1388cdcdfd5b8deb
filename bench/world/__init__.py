"""How ranks come to be: launcher detection, the world, starting an MPI program, idle ranks."""
