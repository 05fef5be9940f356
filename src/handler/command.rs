//! `command = […]`: a program in a process group of its own.
