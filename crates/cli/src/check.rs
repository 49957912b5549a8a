//! `kelda check`: owns its arguments and what its result means, guarantees the exit code and that nothing is changed without
//! a word of consent, never reads the directory itself.

mod json;
mod lists;
mod repair;
mod text;

use std::path::PathBuf;

use clap::Args;
use kelda_server::check::{CheckError, Checker, Plan, Report};

use crate::exit::Failure;
use crate::output;
use crate::ui::Ui;

/// Arguments of `kelda check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The data directory of the stopped node
    #[arg(long, env = "KELDA_DATA_DIR", default_value = "./kelda-data", value_name = "DIR")]
    pub data_dir: PathBuf,
    /// The object store of the node, as for kelda serve; in the data directory when it is not given
    #[arg(long, env = "KELDA_STORE", value_name = "URL")]
    pub store: Option<String>,
    /// List every stream
    #[arg(long)]
    pub streams: bool,
    /// List everything: streams, write-ahead logs, objects, what was left over
    #[arg(short, long)]
    pub verbose: bool,
    /// Remove orphans and left-overs and build damaged indexes anew; says what, asks, and checks again
    #[arg(long)]
    pub repair: bool,
    /// Repair without asking
    #[arg(long, requires = "repair")]
    pub yes: bool,
}

/// Checks a data directory and prints the report, as one JSON document or for people.
pub async fn run(ui: Ui, args: CheckArgs) -> Result<(), Failure> {
    let failed = |error: CheckError| Failure::local(error.to_string());
    let store = args.store.as_deref();
    let mut checker = Checker::open(&args.data_dir, store).await.map_err(failed)?;
    let mut report = checker.check().await.map_err(failed)?;
    let mut repaired = None;
    if args.repair {
        let plan = Plan::of(&report);
        if !plan.is_empty() {
            repair::consent(ui, &plan, args.yes)?;
            repaired = Some(checker.repair(&report, &plan).await.map_err(failed)?);
            report = checker.check().await.map_err(failed)?;
        }
    }
    if ui.json {
        let mut document = json::report(&report);
        if args.repair {
            document["repair"] = repair::json(&repaired.clone().unwrap_or_default());
        }
        output::line(&document)?;
    } else {
        if args.repair {
            output::whole(&repair::text(repaired.as_ref()))?;
        }
        output::text(text::summary(&report).trim_end())?;
        output::text(&lists::all(&report, args.streams || args.verbose, args.verbose))?;
        output::text(text::verdict(&report).trim_end())?;
    }
    verdict(&report)
}

fn verdict(report: &Report) -> Result<(), Failure> {
    let (found, dir) = (report.findings_total, &report.data_dir);
    let things = if found == 1 { "1 finding".to_owned() } else { format!("{found} findings") };
    if report.is_clean() {
        Ok(())
    } else if report.is_only_newer() {
        Err(Failure::local(format!("{dir} was written by a newer version of Kelda: check it with that one")))
    } else {
        Err(Failure::damaged(format!("{dir} is damaged: {things}")))
    }
}
