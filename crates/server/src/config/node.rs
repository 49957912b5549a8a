//! The settings of one node.
//!
//! Owns the one declaration of each. Guarantees that a setting has a default, so that a node starts without any. Never
//! holds what the whole cluster has to agree on.

use std::path::PathBuf;
use std::time::Duration;

use kelda_engine::MinFree;
use kelda_env::layers::Delays;
use kelda_store::StoreUrl;

use super::value::{Bytes, Linger, Listen, MetaKind, Value, WalKind};

/// One setting as it is declared.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name: `--<name>` as a flag, the key in the file, `KELDA_<NAME>` as a variable.
    pub name: &'static str,
    /// What stands for its value in help texts.
    pub placeholder: &'static str,
    /// Its default as text.
    pub default: &'static str,
    /// What it does.
    pub help: &'static str,
    /// Whether it is for tests and measurements, and shown only where it is set.
    pub hidden: bool,
}

impl Setting {
    /// Its variable in the environment.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("KELDA_{}", self.name.to_ascii_uppercase().replace('-', "_"))
    }
}

macro_rules! settings {
    (
        $($field:ident: $type:ty = $name:literal, $default:literal, $help:literal;)+
        => hidden
        $($secret:ident: $secret_type:ty = $secret_name:literal, $secret_default:literal, $secret_help:literal;)+
    ) => {
        /// What one node is told by its operator.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct NodeSettings {
            $(#[doc = $help] pub $field: $type,)+
            $(#[doc = $secret_help] pub $secret: $secret_type,)+
        }

        impl NodeSettings {
            /// Every setting, in the order of the help.
            pub const ALL: &'static [Setting] = &[
                $(Setting {
                    name: $name,
                    placeholder: <$type as Value>::PLACEHOLDER,
                    default: $default,
                    help: $help,
                    hidden: false,
                },)+
                $(Setting {
                    name: $secret_name,
                    placeholder: <$secret_type as Value>::PLACEHOLDER,
                    default: $secret_default,
                    help: $secret_help,
                    hidden: true,
                },)+
            ];

            /// Builds the settings from what `text` says for each; it is asked once per setting.
            ///
            /// # Errors
            /// The first setting whose text does not read, with the reason.
            pub(super) fn from_texts(
                mut text: impl FnMut(&Setting) -> String,
            ) -> Result<NodeSettings, (&'static str, String)> {
                let mut all = NodeSettings::ALL.iter();
                Ok(NodeSettings {
                    $($field: {
                        let setting = all.next().expect("the list has every field");
                        <$type as Value>::read(&text(setting)).map_err(|reason| ($name, reason))?
                    },)+
                    $($secret: {
                        let setting = all.next().expect("the list has every field");
                        <$secret_type as Value>::read(&text(setting)).map_err(|reason| ($secret_name, reason))?
                    },)+
                })
            }

            /// Every setting with its value as text.
            pub fn texts(&self) -> impl Iterator<Item = (&'static Setting, String)> {
                let values = [$(Value::write(&self.$field),)+ $(Value::write(&self.$secret),)+];
                NodeSettings::ALL.iter().zip(values)
            }
        }
    };
}

settings! {
    data_dir: PathBuf = "data-dir", "./kelda-data",
        "The directory that holds everything this node keeps; created when missing, used by one process at a time.";
    listen: Listen = "listen", "127.0.0.1:4437",
        "Where HTTP is served; port 0 picks a free one.";
    amqp_listen: Listen = "amqp-listen", "127.0.0.1:5672",
        "Where AMQP 0-9-1 is served; port 0 picks a free one.";
    amqp_consumer_timeout: Duration = "amqp-consumer-timeout", "30m",
        "How long a delivery over AMQP may wait for its acknowledgement before its channel is closed.";
    admin_listen: Listen = "admin-listen", "127.0.0.1:9437",
        "Where health, readiness and metrics are served; port 0 picks a free one.";
    allow_anonymous: bool = "allow-anonymous", "false",
        "Serve callers without credentials on addresses that other machines can reach.";
    store: StoreUrl = "store", "local",
        "Where objects are kept: local (in the data directory), file:///path, s3://bucket/prefix, gs:// or az://.";
    store_concurrency: u64 = "store-concurrency", "64",
        "Requests to a store of the network at once; more wait for their turn.";
    store_timeout: Duration = "store-timeout", "30s",
        "How long a store of the network is waited for, besides the time for the bytes at 1 MiB/s.";
    meta: MetaKind = "meta", "sqlite",
        "Where the metadata log is kept: sqlite, in the data directory.";
    wal: WalKind = "wal", "auto",
        "Where the write-ahead log is kept: local (in the data directory), store (with the objects), or auto: local with a local store, store with a remote one.";
    node_id: u64 = "node-id", "1",
        "The number of this node in its cluster, never given to two.";
    advertise: String = "advertise", "",
        "Where clients and other nodes reach this node over HTTP; empty means the address it listens on.";
    slots: u64 = "slots", "1000",
        "The share of streams this node takes beside others: placement picks the lowest streams per slot.";
    long_poll_timeout: Duration = "long-poll-timeout", "25s",
        "How long a long-poll waits for a record before it answers 204.";
    sse_max_duration: Duration = "sse-max-duration", "55s",
        "How long an event stream lives before the client has to come back.";
    lease_ttl: Duration = "lease-ttl", "10s",
        "How long a node may be silent before others take over; unused while there is one node (a local log).";
    wal_linger: Linger = "wal-linger", "auto",
        "How long the write-ahead log waits for company before it writes; auto is 0s for a local log, 20ms for one in the store.";
    wal_group_bytes: Bytes = "wal-group-bytes", "8MiB",
        "Bytes that the write-ahead log writes at once; what waits beyond them is written next.";
    wal_uploads: u64 = "wal-uploads", "8",
        "Writes of a log in the store that are on their way at once.";
    upload_interval: Duration = "upload-interval", "10m",
        "How old data may become before it is moved from the write-ahead log to an object though no segment is full.";
    retention_interval: Duration = "retention-interval", "30s",
        "How often the limits of all streams are applied; those that are appended to are looked at more often.";
    min_free: MinFree = "min-free", "auto",
        "Bytes of the disk that are held back: with less, appends are refused (507); auto is the larger of 1GiB and 2%.";
    max_connections: u64 = "max-connections", "10000",
        "Connections served at once; one more is answered 503 and closed.";
    max_parked_readers: u64 = "max-parked-readers", "50000",
        "Long-polls and event streams that wait at once; one more is answered 503.";
    request_memory: Bytes = "request-memory", "512MiB",
        "Bytes of request bodies held at once; one that does not fit within 10 seconds is answered 503.";
    read_memory: Bytes = "read-memory", "256MiB",
        "Bytes of records held at once for replies on their way.";
    object_cache: Bytes = "object-cache", "256MiB",
        "Bytes of objects held in memory: pages and indexes that were read, and what is on its way from the store.";
    ready_json: bool = "ready-json", "false",
        "Write the ready line as JSON.";
    log: String = "log", "info",
        "What is logged to standard error, as a filter such as info or kelda_engine=debug,info.";
    => hidden
    store_delay: Delays = "store-delay", "",
        "How much longer each kind of request to the store takes, for tests and measurements.";
}

impl NodeSettings {
    /// Checks what no single value shows.
    ///
    /// # Errors
    /// The setting that is wrong and what would be right.
    pub(super) fn validate(&self) -> Result<(), (&'static str, String)> {
        let least = |name, value: u64, least: u64| {
            if value < least {
                Err((name, format!("`{value}` is too small: at least {least}")))
            } else {
                Ok(())
            }
        };
        least("slots", self.slots, 1)?;
        self.validate_log()?;
        least("store-concurrency", self.store_concurrency, 1)?;
        least("max-connections", self.max_connections, 1)?;
        least("max-parked-readers", self.max_parked_readers, 1)?;
        for (name, value) in [
            ("long-poll-timeout", self.long_poll_timeout),
            ("sse-max-duration", self.sse_max_duration),
            ("lease-ttl", self.lease_ttl),
            ("retention-interval", self.retention_interval),
            ("store-timeout", self.store_timeout),
        ] {
            if value.is_zero() || value > MAX_WAIT {
                let (value, most) = (crate::duration::format(value), crate::duration::format(MAX_WAIT));
                return Err((name, format!("`{value}` is out of range: more than 0s, at most {most}")));
            }
        }
        let [least, most] = CONSUMER_TIMEOUT;
        if !(least..=most).contains(&self.amqp_consumer_timeout) {
            let [value, least, most] = [self.amqp_consumer_timeout, least, most].map(crate::duration::format);
            let reason = format!("`{value}` is out of range: at least {least}, at most {most}");
            return Err(("amqp-consumer-timeout", reason));
        }
        for (name, value) in [("request-memory", self.request_memory), ("read-memory", self.read_memory)] {
            if value.0 < LEAST_MEMORY {
                let (value, least) = (value.write(), Bytes(LEAST_MEMORY).write());
                return Err((
                    name,
                    format!("`{value}` is too small: at least {least}, for one batch of the largest size"),
                ));
            }
        }
        if self.object_cache.0 < LEAST_CACHE {
            let (value, least) = (self.object_cache.write(), Bytes(LEAST_CACHE).write());
            return Err((
                "object-cache",
                format!("`{value}` is too small: at least {least}, for some requests of readers in sequence"),
            ));
        }
        Ok(())
    }
}

impl NodeSettings {
    /// Where the write-ahead log lies.
    #[must_use]
    pub fn wal_in_store(&self) -> bool {
        match self.wal {
            WalKind::Auto => !matches!(self.store, StoreUrl::Local | StoreUrl::File(_)),
            WalKind::Local => false,
            WalKind::Store => true,
        }
    }

    fn validate_log(&self) -> Result<(), (&'static str, String)> {
        let outside = |name, value: String, least: String, most: String| {
            Err((name, format!("`{value}` is out of range: at least {least}, at most {most}")))
        };
        if let Linger::For(linger) = self.wal_linger
            && linger > MAX_LINGER
        {
            let value = crate::duration::format(linger);
            return outside("wal-linger", value, "0s".to_owned(), crate::duration::format(MAX_LINGER));
        }
        let [least, most] = GROUP_BYTES;
        if !(least..=most).contains(&self.wal_group_bytes.0) {
            let value = self.wal_group_bytes.write();
            return outside("wal-group-bytes", value, Bytes(least).write(), Bytes(most).write());
        }
        if !(1..=MAX_UPLOADS).contains(&self.wal_uploads) {
            return outside(
                "wal-uploads",
                self.wal_uploads.to_string(),
                "1".to_owned(),
                MAX_UPLOADS.to_string(),
            );
        }
        let [least, most] = UPLOAD_INTERVAL;
        if !(least..=most).contains(&self.upload_interval) {
            let text = crate::duration::format;
            return outside("upload-interval", text(self.upload_interval), text(least), text(most));
        }
        Ok(())
    }
}

/// Shortest and longest time that a delivery may be told to wait for its acknowledgement.
const CONSUMER_TIMEOUT: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30 * 86_400)];
/// Longest time that an append may be told to wait for company.
const MAX_LINGER: Duration = Duration::from_secs(10);
/// Least and most bytes of a write of the log: below, every append is one by itself; above, it takes too long.
const GROUP_BYTES: [u64; 2] = [64 << 10, 64 << 20];
/// Most writes on their way: a recovery asks for about as many slots at once.
const MAX_UPLOADS: u64 = 16;
/// Shortest and longest time until data is uploaded: objects cost requests, and the log has to be read at a start.
const UPLOAD_INTERVAL: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(24 * 3600)];
/// Longest wait that a setting may ask for.
const MAX_WAIT: Duration = Duration::from_secs(3_600);
/// Least memory for bodies: one of the largest, with room for what goes with it.
const LEAST_MEMORY: u64 = 192 << 20;
/// Least cache of objects: of a smaller one, a single request would push out most.
const LEAST_CACHE: u64 = 16 << 20;
