//! The `soloist` command.

fn main() {}
