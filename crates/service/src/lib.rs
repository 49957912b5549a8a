//! Named streams as every front end of Kelda calls them.
