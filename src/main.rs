//! The command line.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::{Parser, Subcommand};
use member_mail::{
    commands::{keys, migrate, openapi, seed, serve},
    config,
};

/// The register of your members and the ledger of the mail you send them.
#[derive(Debug, Parser)]
#[command(version, after_help = config::help())]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Default, Subcommand)]
enum Command {
    /// Serve the API, Swagger UI and its document (this is what runs without a command).
    #[default]
    Serve,
    /// Apply the migrations that the database lacks, and exit.
    Migrate,
    /// Print the OpenAPI document, and exit. Needs no database.
    Openapi,
    /// Fill the register with 18,993 persons to try things on. What is there already stays.
    Seed {
        /// Mail records for each person.
        #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1000))]
        mail: u32,
    },
    /// Make, list, rotate and revoke access keys, also while the service runs.
    #[command(subcommand)]
    Keys(keys::Command),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error),
    };
    let done = runtime.block_on(async {
        match arguments.command.unwrap_or_default() {
            Command::Serve => serve::run().await,
            Command::Migrate => migrate::run().await,
            Command::Openapi => openapi::run(),
            Command::Seed { mail } => seed::run(mail).await,
            Command::Keys(command) => keys::run(command).await,
        }
    });
    // A blocking task that still runs, an unfinished initdb say, must not hold up the exit.
    runtime.shutdown_background();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

fn fail(error: &dyn std::error::Error) -> ExitCode {
    writeln!(io::stderr(), "member-mail: {error}").ok();
    ExitCode::FAILURE
}
