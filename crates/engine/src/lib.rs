//! The storage engine of Kelda: write-ahead log, caches, upload, recovery, reads.
