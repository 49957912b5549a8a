//! A manifest as JSON: owns the names of its fields, which `docs/guide/operations.md` describes.

use kelda_format::backup::Manifest;
use serde_json::{Value as Json, json};

use super::take::Taken;

/// A backup as JSON.
#[must_use]
pub fn describe(manifest: &Manifest) -> Json {
    let ids = |ids: &[kelda_format::ObjectId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    json!({
        "backup": manifest.id,
        "at_ms": manifest.at.0,
        "software": manifest.software,
        "streams": manifest.streams,
        "records": manifest.records,
        "objects": manifest.objects,
        "object_bytes": manifest.object_bytes,
        "metadata_bytes": manifest.snapshot_bytes,
        "missing": ids(&manifest.missing),
        "damaged": ids(&manifest.damaged),
    })
}

impl Taken {
    /// The backup as JSON, with what was copied for it.
    #[must_use]
    pub fn describe(&self) -> Json {
        let mut said = describe(&self.manifest);
        said["cluster"] = json!(self.cluster.to_string());
        said["to"] = json!(self.place);
        said["copied_objects"] = json!(self.copied.objects);
        said["copied_bytes"] = json!(self.copied.bytes);
        said
    }
}
