//! Who does what next: the plan of a comparison and the driver that carries it out.
