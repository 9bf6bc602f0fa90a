"""Control on the group of states: steps in time, their exact derivatives, and the flow of the linearization."""
