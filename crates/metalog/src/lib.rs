//! Orders, persists and tails the metadata commands of Kelda and publishes views.
