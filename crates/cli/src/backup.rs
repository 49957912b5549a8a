//! `kelda backup`: owns the request to a running node, guarantees that the result is on standard output and progress is not,
//! never copies by itself.

mod listed;
mod node;

use kelda_env::Env;
use kelda_server::backup::{self, Place, Progress};
use serde_json::Value;

use crate::args::BackupArgs;
use crate::copying;
use crate::exit::Failure;
use crate::output;
use crate::ui::Ui;

/// Takes a backup, or lists those that are there.
pub async fn run(ui: Ui, args: BackupArgs) -> Result<(), Failure> {
    let to = copying::absolute(&args.to)?;
    if args.list {
        return list(ui, &to).await;
    }
    let taken = match &args.data_dir {
        Some(data_dir) => {
            let progress = Progress::default();
            let work = backup::of_stopped(data_dir, args.store.as_deref(), &to, &progress);
            copying::watched(ui, &progress, work).await?.describe()
        }
        None => node::backup(ui, &args.admin, &to).await?,
    };
    if ui.json {
        output::line(&taken)?
    } else {
        output::whole(&listed::taken(&taken))?
    }
    let count = |field: &str| taken[field].as_array().map_or(0, Vec::len);
    copying::verdict(count("missing"), count("damaged"), "the node's store")
}

async fn list(ui: Ui, place: &str) -> Result<(), Failure> {
    let here = Env::real(std::path::Path::new(".")).map_err(|error| Failure::local(error.to_string()))?;
    let failed = |error| copying::failure(&error);
    let place = Place::open(&here, place).await.map_err(failed)?;
    let found = backup::list(&place).await.map_err(failed)?;
    if ui.json {
        let (cluster, backups) = match &found {
            None => (Value::Null, Vec::new()),
            Some((cluster, backups)) => {
                (cluster.to_string().into(), backups.iter().map(backup::describe).collect())
            }
        };
        return output::line(&serde_json::json!({"cluster": cluster, "backups": backups}));
    }
    let Some((cluster, backups)) = found else {
        return output::text(&format!("{} has no backups", place.name));
    };
    output::whole(&listed::list(&cluster.to_string(), &backups))
}
