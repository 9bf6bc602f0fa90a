"""Control on the group of states: time steps and their exact derivatives, simulation, regulators, optimal control."""
