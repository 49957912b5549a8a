//! A database of one test in a PostgreSQL server, whose address comes in a variable; `./check` starts a server. Owns what
//! makes a transaction wait, guarantees that it waits until it is told.

use std::time::{SystemTime, UNIX_EPOCH};

use tokio_postgres::{Client, NoTls};

const ADDRESS: &str = "KELDA_TEST_POSTGRES";

pub struct Database {
    client: Client,
    /// How to connect to it.
    pub address: String,
}

async fn connect(address: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(address, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

impl Database {
    /// An empty one; nothing without a server.
    pub async fn new(name: &str) -> Option<Database> {
        let Ok(server) = std::env::var(ADDRESS) else {
            assert!(std::env::var("KELDA_CHECK").is_err(), "{ADDRESS} is not set");
            println!("skipped: {ADDRESS} is not set");
            return None;
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        let name = format!("kelda_test_{name}_{now}");
        let create = format!("CREATE DATABASE {name}");
        connect(&format!("{server} dbname=postgres")).await.batch_execute(&create).await.unwrap();
        let address = format!("{server} dbname={name}");
        Some(Database { client: connect(&address).await, address })
    }

    /// What is counted, and the last that is.
    pub async fn counted(&self) -> (i64, Option<u64>) {
        let query = "SELECT (SELECT cents FROM revenue), (SELECT last FROM position)";
        let Ok(row) = self.client.query_one(query, &[]).await else { return (0, None) };
        (
            row.get::<_, Option<i64>>(0).unwrap_or_default(),
            row.get::<_, Option<i64>>(1).map(|last| last as u64),
        )
    }

    /// Makes transactions wait at this moment.
    pub async fn wait_at(&self, moment: &str) {
        let trigger = match moment {
            "AT COMMIT" => {
                "CREATE CONSTRAINT TRIGGER wait AFTER UPDATE ON position DEFERRABLE INITIALLY DEFERRED"
                    .to_owned()
            }
            _ => format!("CREATE TRIGGER wait {moment}"),
        };
        let statements = format!(
            "CREATE OR REPLACE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NEW; END $$;
             {trigger} FOR EACH ROW EXECUTE FUNCTION wait();
             SELECT pg_advisory_lock(1)"
        );
        self.client.batch_execute(&statements).await.unwrap();
    }

    /// Lets them go on, and wait no more.
    pub async fn go_on(&self) {
        self.client.batch_execute("SELECT pg_advisory_unlock(1)").await.unwrap();
        until_dropped(&self.client).await;
    }

    /// How many connections wait for a lock.
    pub async fn waiting(&self) -> i64 {
        let query = "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid() AND wait_event_type = 'Lock'";
        self.client.query_one(query, &[]).await.unwrap().get(0)
    }

    /// Whether nobody else is connected.
    pub async fn is_idle(&self) -> bool {
        let query = "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()";
        self.client.query_one(query, &[]).await.unwrap().get::<_, i64>(0) == 0
    }
}

/// The trigger goes when the transactions that have met it are over.
async fn until_dropped(client: &Client) {
    let tables = client
        .query("SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgname = 'wait'", &[])
        .await
        .unwrap();
    for table in tables {
        let drop = format!("DROP TRIGGER wait ON {}", table.get::<_, String>(0));
        client.batch_execute(&drop).await.unwrap();
    }
}
