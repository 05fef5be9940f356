//! Reads a configuration file, or the environment where there is none.
