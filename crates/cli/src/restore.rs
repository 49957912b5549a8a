//! `kelda restore`: owns what is said of its result, never copies by itself.

use kelda_server::backup::{self, Progress};
use serde_json::json;

use crate::args::RestoreArgs;
use crate::copying;
use crate::exit::Failure;
use crate::output;
use crate::ui::{Ui, quoted};

/// Restores a backup.
pub async fn run(ui: Ui, args: RestoreArgs) -> Result<(), Failure> {
    let RestoreArgs { from, backup, data_dir, store } = args;
    let (from, progress) = (copying::absolute(&from)?, Progress::default());
    let work = backup::restore(&from, backup.as_deref(), &data_dir, store.as_deref(), &progress);
    let restored = copying::watched(ui, &progress, work).await?;
    let manifest = &restored.manifest;
    let serve = serve_command(&data_dir.display().to_string(), store.as_deref());
    if ui.json {
        let mut said = copying::copied(&restored.copied);
        said["backup"] = json!(manifest.id);
        said["cluster"] = json!(restored.cluster.to_string());
        said["data_dir"] = json!(data_dir.display().to_string());
        said["store"] = json!(restored.store);
        said["streams"] = json!(manifest.streams);
        said["records"] = json!(manifest.records);
        said["serve"] = json!(serve);
        output::line(&said)?;
    } else {
        output::text(&format!(
            "backup {} with {} streams and {} records is in {}\nstart it with: {serve}",
            manifest.id,
            manifest.streams,
            manifest.records,
            data_dir.display()
        ))?;
    }
    copying::verdict(restored.copied.missing.len(), restored.copied.damaged.len(), &from)
}

/// How a node is started on a directory and a store.
pub fn serve_command(data_dir: &str, store: Option<&str>) -> String {
    let store = store.map(|store| format!(" --store {}", quoted(store))).unwrap_or_default();
    format!("kelda serve --data-dir {}{store}", quoted(data_dir))
}
