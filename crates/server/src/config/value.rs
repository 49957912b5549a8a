//! The types that settings have.
//!
//! Owns how each is read from text and written as text. Guarantees that what is written reads back. Never reads a
//! variable or a file.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use kelda_engine::MinFree;
use kelda_env::StoreOp;
use kelda_env::layers::Delays;
use kelda_store::StoreUrl;

/// A type of setting.
pub(super) trait Value: Sized {
    /// What stands for the value in help texts.
    const PLACEHOLDER: &'static str;

    /// Reads it.
    fn read(text: &str) -> Result<Self, String>;

    /// Writes it, so that [`Value::read`] reads it back.
    fn write(&self) -> String;
}

impl Value for bool {
    const PLACEHOLDER: &'static str = "true|false";

    fn read(text: &str) -> Result<bool, String> {
        text.parse().map_err(|_| format!("`{text}` is neither true nor false"))
    }

    fn write(&self) -> String {
        self.to_string()
    }
}

impl Value for u64 {
    const PLACEHOLDER: &'static str = "NUMBER";

    fn read(text: &str) -> Result<u64, String> {
        text.parse().map_err(|_| format!("`{text}` is not a whole number"))
    }

    fn write(&self) -> String {
        self.to_string()
    }
}

impl Value for String {
    const PLACEHOLDER: &'static str = "TEXT";

    fn read(text: &str) -> Result<String, String> {
        Ok(text.to_owned())
    }

    fn write(&self) -> String {
        self.clone()
    }
}

impl Value for PathBuf {
    const PLACEHOLDER: &'static str = "PATH";

    fn read(text: &str) -> Result<PathBuf, String> {
        if text.is_empty() { Err("a path cannot be empty".to_owned()) } else { Ok(PathBuf::from(text)) }
    }

    fn write(&self) -> String {
        self.display().to_string()
    }
}

impl Value for Duration {
    const PLACEHOLDER: &'static str = "DURATION";

    fn read(text: &str) -> Result<Duration, String> {
        crate::duration::parse(text)
    }

    fn write(&self) -> String {
        crate::duration::format(*self)
    }
}

/// How long a write-ahead log waits for company.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linger {
    /// As is right for where the log lies.
    Auto,
    /// So long.
    For(Duration),
}

impl Value for Linger {
    const PLACEHOLDER: &'static str = "DURATION|auto";

    fn read(text: &str) -> Result<Linger, String> {
        match text {
            "auto" => Ok(Linger::Auto),
            _ => crate::duration::parse(text).map(Linger::For),
        }
    }

    fn write(&self) -> String {
        match self {
            Linger::Auto => "auto".to_owned(),
            Linger::For(duration) => crate::duration::format(*duration),
        }
    }
}

/// An amount of bytes, written with a unit such as `256MiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

const BYTE_UNITS: [(&str, u64); 5] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("", 1)];

impl Value for Bytes {
    const PLACEHOLDER: &'static str = "BYTES";

    fn read(text: &str) -> Result<Bytes, String> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let factor = BYTE_UNITS.into_iter().find(|(name, _)| *name == unit).map(|(_, factor)| factor);
        factor
            .zip(number.parse::<u64>().ok())
            .and_then(|(factor, n)| n.checked_mul(factor))
            .map(Bytes)
            .ok_or_else(|| {
                format!("`{text}` is not an amount of bytes: write digits and perhaps KiB, MiB, GiB or TiB")
            })
    }

    fn write(&self) -> String {
        let exact = |(_, factor): &(&str, u64)| self.0 > 0 && self.0.is_multiple_of(*factor);
        let (unit, factor) = BYTE_UNITS.into_iter().find(exact).unwrap_or(("", 1));
        format!("{}{unit}", self.0 / factor)
    }
}

impl Value for MinFree {
    const PLACEHOLDER: &'static str = "BYTES|auto";

    fn read(text: &str) -> Result<MinFree, String> {
        if text == "auto" {
            return Ok(MinFree::Auto);
        }
        <Bytes as Value>::read(text)
            .map(|bytes| MinFree::Bytes(bytes.0))
            .map_err(|error| format!("{error}, or auto"))
    }

    fn write(&self) -> String {
        match self {
            MinFree::Auto => "auto".to_owned(),
            MinFree::Bytes(bytes) => Bytes(*bytes).write(),
        }
    }
}

impl std::str::FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Bytes, String> {
        Value::read(text)
    }
}

/// Where a listener binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// Nowhere.
    Off,
    /// Here; port 0 lets the system choose.
    At(SocketAddr),
}

impl Listen {
    /// Whether others than this machine can reach it.
    #[must_use]
    pub fn is_exposed(self) -> bool {
        matches!(self, Listen::At(address) if !address.ip().is_loopback())
    }
}

impl Value for Listen {
    const PLACEHOLDER: &'static str = "ADDRESS:PORT|off";

    fn read(text: &str) -> Result<Listen, String> {
        if text == "off" {
            return Ok(Listen::Off);
        }
        let local = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
        let address = local.map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
        address.or_else(|| text.parse().ok()).map(Listen::At).ok_or_else(|| {
            format!("`{text}` is not an address to listen on: write 127.0.0.1:4437, [::1]:4437, localhost:4437 or off")
        })
    }

    fn write(&self) -> String {
        match self {
            Listen::Off => "off".to_owned(),
            Listen::At(address) => address.to_string(),
        }
    }
}

impl Value for StoreUrl {
    const PLACEHOLDER: &'static str = "URL";

    fn read(text: &str) -> Result<StoreUrl, String> {
        text.parse().map_err(|error: kelda_store::UrlError| error.to_string())
    }

    fn write(&self) -> String {
        self.to_string()
    }
}

impl Value for Delays {
    const PLACEHOLDER: &'static str = "KIND=DURATION,...";

    fn read(text: &str) -> Result<Delays, String> {
        let mut delays = Delays::default();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            let found = word.split_once('=').and_then(|(name, delay)| {
                Some((StoreOp::ALL.into_iter().find(|op| op.name() == name)?, delay))
            });
            let Some((op, delay)) = found else {
                let kinds: Vec<_> = StoreOp::ALL.iter().map(|op| op.name()).collect();
                return Err(format!("`{word}` is no delay: write put=30ms, of {}", kinds.join(", ")));
            };
            delays.set(op, crate::duration::parse(delay)?);
        }
        Ok(delays)
    }

    fn write(&self) -> String {
        let said = StoreOp::ALL.into_iter().filter_map(|op| Some((op, self.said(op)?)));
        let words: Vec<_> =
            said.map(|(op, delay)| format!("{}={}", op.name(), crate::duration::format(delay))).collect();
        words.join(",")
    }
}

macro_rules! words {
    ($($(#[doc = $doc:literal])+ $name:ident, $what:literal { $($(#[doc = $word_doc:literal])+ $variant:ident = $word:literal),+ })+) => {
        $(
            $(#[doc = $doc])+
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum $name { $($(#[doc = $word_doc])+ $variant,)+ }

            impl Value for $name {
                const PLACEHOLDER: &'static str = "WORD";

                fn read(text: &str) -> Result<$name, String> {
                    match text {
                        $($word => Ok($name::$variant),)+
                        _ => {
                            let words = [$($word),+].join(" or ");
                            Err(format!(concat!("`{}` is not ", $what, " that this version has: write {}"), text, words))
                        }
                    }
                }

                fn write(&self) -> String {
                    match self { $($name::$variant => $word,)+ }.to_owned()
                }
            }
        )+
    };
}

words! {
    /// Where the metadata log is kept.
    MetaKind, "a metadata backend" {
        /// In an `SQLite` file in `<data-dir>/meta`.
        Sqlite = "sqlite"
    }
    /// Where the write-ahead log is kept.
    WalKind, "a write-ahead log" {
        /// With a local store as `Local`, with a remote one as `Store`.
        Auto = "auto",
        /// In `<data-dir>/wal`.
        Local = "local",
        /// In the object store.
        Store = "store"
    }
}
