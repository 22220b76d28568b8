//! Where does it run: virtual machines and this machine.
