"""`burnish worker`: run the tasks of several projects on this machine, beside other machines."""
