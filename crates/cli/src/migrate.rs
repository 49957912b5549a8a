//! `kelda migrate`: owns what is said of its result, never copies by itself.

use kelda_server::backup::{self, Progress};
use serde_json::json;

use crate::args::MigrateArgs;
use crate::copying;
use crate::exit::Failure;
use crate::output;
use crate::restore::serve_command;
use crate::ui::Ui;

/// Moves a stopped node to another store.
pub async fn run(ui: Ui, args: MigrateArgs) -> Result<(), Failure> {
    let MigrateArgs { data_dir, store, to } = args;
    let (to, progress) = (copying::absolute(&to)?, Progress::default());
    let work = backup::migrate(&data_dir, store.as_deref(), &to, &progress);
    let migrated = copying::watched(ui, &progress, work).await?;
    let serve = serve_command(&data_dir.display().to_string(), Some(&to));
    if ui.json {
        let mut said = copying::copied(&migrated.copied);
        said["cluster"] = json!(migrated.cluster.to_string());
        said["from"] = json!(migrated.from);
        said["to"] = json!(migrated.to);
        said["serve"] = json!(serve);
        output::line(&said)?;
    } else {
        let (copied, from) = (&migrated.copied, &migrated.from);
        output::text(&format!(
            "{} objects are in {}, {} of them copied now\n{from} is left as it is: do not start the node on it any more, it \
             would lack what the new store gets\nstart it with: {serve}",
            copied.present + copied.objects,
            migrated.to,
            copied.objects
        ))?;
    }
    copying::verdict(migrated.copied.missing.len(), migrated.copied.damaged.len(), &migrated.from)
}
