//! The settings of the whole cluster.
//!
//! Owns what every node has to agree on and where it is kept: keys of the space `config` in the metadata. Guarantees a
//! default for each, so that a new cluster needs none. Never comes from a flag, a variable or a file.

/// What all nodes of a cluster agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterSettings {
    /// Which web origins may read replies: `*`, or one origin such as `https://app.example`.
    pub cors_allow_origin: String,
}

impl Default for ClusterSettings {
    fn default() -> ClusterSettings {
        ClusterSettings { cors_allow_origin: "*".to_owned() }
    }
}
