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

/// Bytes of memory that this process has in use right now; nothing where the system does not say so in `/proc`.
#[must_use]
#[allow(clippy::disallowed_methods, reason = "a file of the kernel about this process, no data")]
pub fn resident_bytes() -> Option<u64> {
    resident(&std::fs::read_to_string("/proc/self/status").ok()?)
}

fn resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_read_from_its_line() {
        assert_eq!(resident("VmPeak:\t 9 kB\nVmRSS:\t   1234 kB\nVmSwap:\t 0 kB\n"), Some(1234 << 10));
        assert_eq!(resident("VmPeak:\t 9 kB\n"), None);
        assert_eq!(resident("VmRSS:\t many kB\n"), None);
    }
}
