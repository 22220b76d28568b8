//! What happens on the testbox: setups, monitors, workload, environment.
