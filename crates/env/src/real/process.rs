//! What the operating system lets this process have. Guarantees that a limit is only ever raised. Never asks for more than
//! the hard limit, which is the administrator's.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the number of files and sockets that may be open to what the administrator allows, and answers that number;
/// nothing when there is no limit.
///
/// # Errors
/// The system refuses; the limit is as it was.
pub fn raise_open_files_limit() -> std::io::Result<Option<u64>> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    }
    Ok(limit.maximum)
}
