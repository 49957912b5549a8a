//! What the operating system lets this process have, and what it took. Guarantees that a limit is only ever raised. Never
//! asks for more than the hard limit, which is the administrator's.

use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

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

/// Processor time that all threads of this process have taken, in user and in system mode.
#[must_use]
pub fn processor_time() -> Duration {
    let taken = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(taken.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(taken.tv_nsec).unwrap_or(0))
}
