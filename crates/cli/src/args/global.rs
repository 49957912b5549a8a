//! What every verb takes: where the server is, and how to talk.

use clap::Args;

/// Options of every verb.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every verb")]
pub struct Global {
    /// The server's address; http://127.0.0.1:4437 when nothing says otherwise
    #[arg(long, global = true, env = "KELDA_ENDPOINT", hide_env_values = true, value_name = "URL")]
    pub endpoint: Option<String>,
    /// Take the server's address from this profile of the profile file
    #[arg(long, global = true, env = "KELDA_PROFILE", hide_env_values = true, value_name = "NAME")]
    pub profile: Option<String>,
    /// Print JSON on standard output, and errors and warnings as JSON on standard error
    #[arg(long, global = true)]
    pub json: bool,
    /// Print no confirmations, no warnings and no progress on standard error, only errors
    #[arg(short, long, global = true)]
    pub quiet: bool,
}
