//! The `soloist` command.

fn main() -> std::process::ExitCode {
    soloist::cli::main()
}
