"""Attempts to break our own promises: attacks on certificates, and a self-test of the noise they rest on."""
