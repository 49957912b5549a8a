//! The settings of the whole cluster.
//!
//! Owns what every node has to agree on and where it is kept: keys of the space for settings in the metadata. Guarantees
//! a default for each, so that a new cluster needs none. Never comes from a flag, a variable or a file.

use kelda_format::rows::KeySpace;
use kelda_meta::State;

/// What all nodes of a cluster agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterSettings {
    /// Which web origins may read replies: `*`, or one origin such as `https://app.example`. Key `cors-allow-origin`.
    pub cors_allow_origin: String,
}

impl Default for ClusterSettings {
    fn default() -> ClusterSettings {
        ClusterSettings { cors_allow_origin: "*".to_owned() }
    }
}

impl ClusterSettings {
    /// The settings in force in a view.
    #[must_use]
    pub fn of(view: &State) -> ClusterSettings {
        let text = |key: &str| {
            let row = view.key(KeySpace::Setting, key.as_bytes())?;
            std::str::from_utf8(&row.value).ok().map(str::to_owned)
        };
        let default = ClusterSettings::default();
        ClusterSettings { cors_allow_origin: text("cors-allow-origin").unwrap_or(default.cors_allow_origin) }
    }
}
